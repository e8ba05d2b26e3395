//! What plastic flow takes of the energy: that of the nodes whose fibers have other rest lengths or angles, before and after.

use super::evaluate::{Fitted, Stress};
use super::{CHUNK, Engine};
use crate::models::shell::lanes::{LANES, Lane};
use crate::models::shell::stiffening;

impl Engine {
    /// Energy of node `i` at what the last `measure` saw, with the rest lengths and angles of now [J].
    fn energy_of(&self, i: usize) -> f64 {
        let center = &self.centers[i];
        let first = CHUNK * (i / CHUNK);
        let before: usize = self.centers[first..i].iter().map(|c| usize::from(c.groups)).sum();
        let place = i / CHUNK * self.group_stride + before;
        let groups = &self.groups[center.first_group as usize..][..usize::from(center.groups)];
        let (mut membrane, mut bending) = (Fitted::<false>::default(), Fitted::<false>::default());
        let values = |k: usize| {
            let (group, [lengths, angles]) = (&groups[k], self.seen[place + k]);
            let (mut strain, mut curvature) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                strain[l] = 0.5 * (lengths.0[l] * lengths.0[l] * group.inverse_rest2.0[l]) - 0.5;
                let guard = self.guards[place + k].0[l].max(self.floor);
                curvature[l] = (angles.0[l] - group.rest_angle.0[l]) * (group.per_turn.0[l] * guard);
            }
            [Lane(strain), Lane(curvature)]
        };
        for k in 0..groups.len() {
            let [strain, curvature] = values(k);
            membrane.add(&groups[k].membrane, strain);
            bending.add(&groups[k].bending, curvature);
        }
        let (membrane, bending) = (Stress::new(&membrane, center.membrane), Stress::new(&bending, center.bending));
        let mut residuals = [Lane::<false>::ZERO; 2];
        for k in 0..groups.len() {
            let [strain, curvature] = values(k);
            membrane.derivative(&groups[k].membrane, strain, &mut residuals[0]);
            bending.derivative(&groups[k].bending, curvature, &mut residuals[1]);
        }
        let plain = [membrane.energy + 0.5 * residuals[0].sum(), bending.energy + 0.5 * residuals[1].sum()];
        let stiffened = |k: usize| stiffening::energy(self.rise, center.per_energy[k], plain[k]);
        stiffened(0) + stiffened(1)
    }

    /// Energy that went when the rest state of the fibers of some nodes became another [J].
    pub(in crate::models::shell) fn dissipated(&self, changed: &[u32]) -> f64 {
        let went = |i: usize| self.own[i].energy[0] + self.own[i].energy[1] - self.energy_of(i);
        changed.iter().map(|&i| went(i as usize)).sum()
    }
}
