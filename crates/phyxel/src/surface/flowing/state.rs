//! The state of the surface that survives a restart, as bytes.

use super::coat::Coat;
use super::topology::Mark;
use super::{Counters, Element, FlowingSurface, Joined};
use bytemuck::Pod;
use glam::DVec3;

impl FlowingSurface {
    /// The state, so that `restore` goes on with the same bits.
    pub fn state(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &[self.counters]);
        write(&mut bytes, &self.joined);
        write(&mut bytes, &self.members);
        write(&mut bytes, &self.last);
        write(&mut bytes, &self.starts);
        write(&mut bytes, &self.flowed);
        write(&mut bytes, &self.marks);
        write(&mut bytes, &self.anchors);
        write(&mut bytes, &self.elements);
        let coats: Vec<[u32; 2]> = self.coats.iter().map(|c| [c.body, c.vertices.len() as u32]).collect();
        write(&mut bytes, &coats);
        self.coats.iter().for_each(|c| write(&mut bytes, &c.vertices));
        bytes
    }

    /// Takes over a state that `state` gave. None, and nothing changes, if the bytes are not such a state for a table of
    /// `points` points.
    pub fn restore(&mut self, bytes: &[u8], points: usize) -> Option<()> {
        let mut rest = bytes;
        let counters: Vec<Counters> = read(&mut rest)?;
        let joined: Vec<Joined> = read(&mut rest)?;
        let members: Vec<u32> = read(&mut rest)?;
        let last: Vec<DVec3> = read(&mut rest)?;
        let starts: Vec<DVec3> = read(&mut rest)?;
        let flowed: Vec<f32> = read(&mut rest)?;
        let marks: Vec<Mark> = read(&mut rest)?;
        let anchors: Vec<DVec3> = read(&mut rest)?;
        let elements: Vec<Element> = read(&mut rest)?;
        let worn: Vec<[u32; 2]> = read(&mut rest)?;
        let mut coats = Vec::new();
        for [body, vertices] in worn {
            let coat = Coat { body, vertices: read(&mut rest)? };
            coats.push((coat.vertices.len() == vertices as usize).then_some(coat)?);
        }
        let count = members.len();
        let fits = counters.len() == 1 && [last.len(), starts.len(), flowed.len(), marks.len()] == [count; 4];
        let fits = fits && (anchors.is_empty() || anchors.len() == count);
        let hosted =
            elements.iter().chain(coats.iter().flat_map(|c| &c.vertices)).all(|e| (e.host as usize) < count.max(1));
        if !fits || !hosted || !rest.is_empty() || members.iter().any(|&m| m as usize >= points) {
            return None;
        }
        (self.counters, self.joined, self.members) = (counters[0], joined, members);
        (self.last, self.flowed, self.marks, self.elements) = (last, flowed, marks, elements);
        (self.coats, self.anchors, self.starts) = (coats, anchors, starts);
        Some(())
    }
}

/// Appends the number of entries and the entries.
fn write<T: Pod>(bytes: &mut Vec<u8>, entries: &[T]) {
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(bytemuck::cast_slice::<T, u8>(entries));
}

/// Takes what `write` appended from the front.
fn read<T: Pod>(bytes: &mut &[u8]) -> Option<Vec<T>> {
    let (count, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(size_of::<T>())?;
    let (own, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(own.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
}
