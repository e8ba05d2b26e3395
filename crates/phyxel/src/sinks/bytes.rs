//! Little-endian bytes: a writer that grows and a reader that never reads past the end.

use glam::Vec3;

/// Appends values to a buffer.
pub(crate) struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    pub fn u8(&mut self, x: u8) {
        self.0.push(x);
    }
    pub fn u32(&mut self, x: u32) {
        self.bytes(&x.to_le_bytes());
    }
    pub fn u64(&mut self, x: u64) {
        self.bytes(&x.to_le_bytes());
    }
    pub fn f64(&mut self, x: f64) {
        self.bytes(&x.to_le_bytes());
    }
    pub fn f32(&mut self, x: f32) {
        self.bytes(&x.to_le_bytes());
    }
    pub fn text(&mut self, text: &str) {
        self.u32(text.len() as u32);
        self.bytes(text.as_bytes());
    }
    pub fn f32s(&mut self, values: &[f32]) {
        for x in values {
            self.f32(*x);
        }
    }
    pub fn vec3s(&mut self, values: &[Vec3]) {
        for v in values {
            self.f32s(&v.to_array());
        }
    }
}

/// Takes values from a buffer; None where it ends too early.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }
    pub fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
    pub fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }
    pub fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes)
    }
    pub fn text(&mut self) -> Option<String> {
        let count = self.u32()? as usize;
        String::from_utf8(self.bytes(count)?.to_vec()).ok()
    }
    /// `count` items of `N` bytes each; nothing is allocated unless the bytes are there.
    pub fn items<const N: usize, T>(&mut self, count: usize, item: impl Fn(&[u8; N]) -> T) -> Option<Vec<T>> {
        let bytes = self.bytes(count.checked_mul(N)?)?;
        Some(bytes.as_chunks::<N>().0.iter().map(item).collect())
    }
    pub fn u32s(&mut self, count: usize) -> Option<Vec<u32>> {
        self.items::<4, _>(count, |b| u32::from_le_bytes(*b))
    }
    pub fn f32s(&mut self, count: usize) -> Option<Vec<f32>> {
        self.items::<4, _>(count, |b| f32::from_le_bytes(*b))
    }
    pub fn vec3s(&mut self, count: usize) -> Option<Vec<Vec3>> {
        self.items::<12, _>(count, |b| {
            let x = |i: usize| f32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
            Vec3::new(x(0), x(4), x(8))
        })
    }
}
