//! Pins that hold a band of a shell clamp it: the nodes on the edge of the band bend four times as hard.

use crate::models::shell::clamp::clamp_factors;
use crate::world::World;

impl World {
    /// Phase: brings the clamps of shells up to date when pins have begun or ended; the energy is booked.
    pub(crate) fn clamp_pins(&mut self) {
        if !self.shells.is_empty() && self.clamped != self.clamping_pins() {
            self.switch(Self::set_clamps);
        }
    }

    /// Pins that hold all directions of points of a shell now.
    fn clamping_pins(&self) -> Vec<usize> {
        let clamps = |k: &usize| {
            let pin = &self.pins[*k];
            pin.axes == [true; 3] && pin.is_active(self.time) && self.shells.manages(pin.body)
        };
        (0..self.pins.len()).filter(clamps).collect()
    }

    /// `clamp_pins` without booking, for the start of a frame.
    pub(crate) fn set_clamps(&mut self) {
        let pins = self.clamping_pins();
        if self.shells.is_empty() || self.clamped == pins {
            return;
        }
        for b in 0..self.bodies.len() {
            let concerned = |list: &[usize]| list.iter().any(|&k| self.pins[k].body == b);
            let Some(shell) = self.shells.shell(b).filter(|_| concerned(&pins) || concerned(&self.clamped)) else {
                continue;
            };
            let range = self.bodies[b].range.clone();
            let mut held = vec![false; range.len()];
            for pin in pins.iter().map(|&k| &self.pins[k]).filter(|p| p.body == b) {
                pin.points.iter().for_each(|&i| held[i as usize - range.start] = true);
            }
            let factors = clamp_factors(shell.network(), &shell.nodes().positions, &held, shell.spacing());
            self.shells.set_clamps(b, &factors, &self.points);
        }
        self.clamped = pins;
    }
}
