//! Frames as embedded space sees them: embedded bodies at their embedded positions, without what stands around them.

use crate::frame::{BodyFrame, Frame};
use crate::surface::IsoSurface;
use glam::Vec3;

/// Which space is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Space {
    /// The world.
    #[default]
    World,
    /// Embedded space [War12]: the shape without stress, as far as three dimensions can hold it.
    Embedded,
    /// Embedded bodies where their points were at the start: fields such as plastic flow, seen on the shape before it.
    Rest,
}

/// Names of the fields that hold embedded positions [m].
pub const EMBEDDED: [&str; 3] = ["embedded_x", "embedded_y", "embedded_z"];

/// Puts embedded positions back to those of another frame of the same run: of the first one, where nothing has flowed yet.
pub fn put_back(frame: &mut Frame, first: &Frame) {
    for (body, first) in frame.bodies.iter_mut().zip(&first.bodies) {
        for (name, values) in body.fields.iter_mut().filter(|(name, _)| EMBEDDED.contains(name)) {
            if let Some((_, rest)) =
                first.fields.iter().find(|(other, rest)| other == name && rest.len() == values.len())
            {
                values.clone_from(rest);
            }
        }
    }
}

/// Moves embedded bodies to their embedded positions, with a mesh around them, and leaves out the rest. Says whether there are any.
pub fn show_embedded(frame: &mut Frame) -> bool {
    frame.colliders.clear();
    frame.bodies.retain_mut(|body| {
        let Some(positions) = embedded(body) else { return false };
        body.positions = positions;
        body.hidden = false;
        let (mesh, spacing) = IsoSurface::around_tough(&body.positions, &body.spacings);
        mesh.write_surfels(spacing, body.color, &mut body.surfels);
        true
    });
    !frame.bodies.is_empty()
}

fn embedded(body: &BodyFrame) -> Option<Vec<Vec3>> {
    let field = |name: &str| body.fields.iter().find(|(field, _)| *field == name).map(|(_, values)| values);
    let [x, y, z] = EMBEDDED.map(field);
    let (x, y, z) = (x?, y?, z?);
    Some(x.iter().zip(y).zip(z).map(|((x, y), z)| Vec3::new(*x, *y, *z)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_embedded_bodies_are_left() {
        let mut frame = Frame { bodies: vec![BodyFrame::default(); 2], ..Frame::default() };
        let places = [[0.0, 0.1, 0.2], [1.0, 1.0, 1.0], [2.0, 2.0, 2.1]];
        frame.bodies[1].spacings = vec![0.1; 3];
        frame.bodies[1].fields = EMBEDDED.into_iter().zip(places.map(|p| p.to_vec())).collect();
        assert!(show_embedded(&mut frame));
        assert_eq!(frame.bodies.len(), 1);
        assert_eq!(frame.bodies[0].positions[2], Vec3::new(0.2, 1.0, 2.1));
        assert!(!frame.bodies[0].surfels.is_empty());
        assert!(!show_embedded(&mut Frame::default()));
        let first = Frame {
            bodies: vec![BodyFrame { fields: vec![(EMBEDDED[1], vec![7.0; 3])], ..frame.bodies[0].clone() }],
            ..Frame::default()
        };
        put_back(&mut frame, &first);
        show_embedded(&mut frame);
        assert_eq!(frame.bodies[0].positions[2], Vec3::new(0.2, 7.0, 2.1));
    }
}
