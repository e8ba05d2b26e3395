//! Sources of heat: `[[heat]]`.

use super::conduction::Crowding;
use super::exchange::lit_area;
use glam::DVec3;

/// One `[[heat]]` of the world; points are those that take part in heat, by their number among them.
#[derive(Debug, Clone)]
pub struct Source {
    /// What it does.
    pub kind: SourceKind,
    /// Start [s].
    pub from: f64,
    /// End [s].
    pub until: f64,
}

/// What a source does.
#[derive(Debug, Clone)]
pub enum SourceKind {
    /// A power [W] spread over points by mass.
    Power(Vec<u32>, f64),
    /// Points at a held temperature [K].
    Held(Vec<u32>, f64),
    /// Light on surfaces.
    Lamp(Lamp),
}

/// Light that heats what it falls on; it casts no shadows.
#[derive(Debug, Clone)]
pub struct Lamp {
    /// Which kind of matter it heats; None: all.
    pub kind: Option<u32>,
    /// Heat per area across the light [W/m²].
    pub flux: f64,
    /// The way the light goes, a unit vector.
    pub direction: DVec3,
    /// A place on the axis of the beam [m].
    pub center: DVec3,
    /// Radius of the beam [m]; None: no bounds.
    pub radius: Option<f64>,
}

impl Source {
    /// Part of the time from `start` to `end` [s] during which it works.
    pub fn active_part(&self, start: f64, end: f64) -> f64 {
        let overlap = end.min(self.until) - start.max(self.from);
        if end > start { (overlap / (end - start)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl Lamp {
    /// Whether the beam reaches a place [m].
    pub fn reaches(&self, position: DVec3) -> bool {
        let from_axis = (position - self.center).reject_from_normalized(self.direction);
        self.radius.is_none_or(|radius| from_axis.length_squared() <= radius * radius)
    }

    /// Power on a point [W] that the beam reaches, see `lit_area`.
    pub fn power(&self, crowding: &Crowding, volume: f64, spacing: f64, exposed: f64) -> f64 {
        self.flux * lit_area(crowding, volume, spacing, exposed, self.direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_work_during_their_time_only() {
        let source = Source { kind: SourceKind::Power(Vec::new(), 1.0), from: 1.0, until: 2.0 };
        let part = |start, end| source.active_part(start, end);
        assert_eq!((part(0.0, 1.0), part(0.5, 1.5), part(1.0, 2.0), part(2.0, 3.0)), (0.0, 0.5, 1.0, 0.0));
        assert_eq!((part(0.0, 4.0), part(1.5, 1.5)), (0.25, 0.0));
    }

    #[test]
    fn beams_end_at_their_radius() {
        let lamp = Lamp { kind: None, flux: 100.0, direction: DVec3::NEG_Y, center: DVec3::X, radius: Some(0.5) };
        assert!(lamp.reaches(DVec3::new(1.4, 7.0, 0.0)) && !lamp.reaches(DVec3::new(1.6, 7.0, 0.0)));
        assert!(Lamp { radius: None, ..lamp }.reaches(DVec3::new(1.6, 7.0, 0.0)));
    }
}
