//! What of the cracks survives a restart.

use super::Fracture;
use crate::models::shell::body::Shell;
use crate::models::shell::cracks::{Piece, Tip};
use crate::models::shell::rebuild::{Broken, Change};

impl Fracture {
    /// Appends the cracks.
    pub fn save(&self, out: &mut Vec<f64>) {
        out.extend([self.pieces.len(), self.tips.len(), self.broken.len()].map(|n| n as f64));
        out.push(self.ready);
        out.extend(self.pieces.iter().flat_map(Piece::numbers));
        out.extend(self.tips.iter().flat_map(Tip::numbers));
        out.extend(self.broken.iter().flatten().map(|&i| f64::from(i)));
    }

    /// Puts back what `save` gave, with the shell as it was then but for its rest lengths and angles, and returns the rest of the
    /// numbers; None when they do not fit.
    pub fn load<'a>(&mut self, shell: &mut Shell, numbers: &'a [f64]) -> Option<&'a [f64]> {
        let (&[pieces, tips, broken, ready], numbers) = numbers.split_first_chunk()?;
        let count = |x: f64, size: usize| (x as usize).checked_mul(size);
        let (piece_numbers, numbers) = numbers.split_at_checked(count(pieces, 10)?)?;
        let (tip_numbers, numbers) = numbers.split_at_checked(count(tips, 11)?)?;
        let (broken_numbers, numbers) = numbers.split_at_checked(count(broken, 3)?)?;
        let nodes = shell.nodes.positions.len();
        if broken_numbers.iter().any(|&i| i as usize >= nodes) {
            return None;
        }
        let pieces: Vec<Piece> = piece_numbers.as_chunks::<10>().0.iter().map(Piece::from_numbers).collect();
        let broken: Vec<Broken> = broken_numbers.as_chunks::<3>().0.iter().map(|b| b.map(|x| x as u32)).collect();
        self.tips = tip_numbers.as_chunks::<11>().0.iter().map(Tip::from_numbers).collect();
        self.ready = ready;
        if pieces != self.pieces || broken != self.broken {
            shell.make_whole(&self.whole);
            self.added.clear();
            (self.pieces, self.broken) = (pieces, broken);
            let mut changes = self.changes(shell, 0);
            for &[i, ..] in &self.broken {
                if let Err(place) = changes.binary_search_by_key(&i, |c| c.node) {
                    changes.insert(place, Change { node: i, list: self.list(&shell.nodes.positions, i) });
                }
            }
            shell.rebuild(&changes, &self.broken, &self.whole);
        }
        self.weaken(shell);
        Some(numbers)
    }
}
