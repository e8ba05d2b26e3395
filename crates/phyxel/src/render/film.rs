//! Film: pictures to an H.264 MP4 that plays in browsers.
//!
//! 4:2:0, BT.709, limited range, the index in front of the data. The frames are held compressed in memory and written by
//! `finish`, under a temporary name first: a film is either whole or not there.

use super::image::{Image, temporary_name};
use crate::error::{Diagnostic, Error, Result};
use muxide::api::{Muxer, MuxerBuilder, VideoCodec};
use openh264::OpenH264API;
use openh264::encoder::{
    BitRate, Complexity, Encoder, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, QpRange, RateControlMode,
    VuiConfig,
};
use openh264::formats::YUVSlices;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A film being written.
pub struct Film {
    path: PathBuf,
    temporary: PathBuf,
    muxer: Option<Muxer<BufWriter<File>>>,
    encoder: Encoder,
    width: usize,
    height: usize,
    fps: f64,
    frames: u64,
    /// Planes Y, U, V one after the other.
    yuv: Vec<u8>,
    bits: Vec<u8>,
}

impl Film {
    /// Opens a film of that size [pixels] and rate [frames/s]. The format needs even sizes: an odd last row or column is
    /// left out. Fails if the file cannot be created, the size is below 16 or above 3840 x 2160, or `fps` is not sensible.
    pub fn create(path: impl AsRef<Path>, width: usize, height: usize, fps: f64) -> Result<Self> {
        let (width, height) = (width & !1, height & !1);
        if width.min(height) < 16 || width.max(height) > 3840 || width.min(height) > 2160 {
            return Err(Diagnostic::new(format!("a film cannot have {width} x {height} pixels"))
                .expected("from 16 x 16 to 3840 x 2160")
                .into());
        }
        if !(0.01..=1000.0).contains(&fps) {
            return Err(Diagnostic::new(format!("a film cannot have {fps} frames per second"))
                .expected("0.01 to 1000")
                .into());
        }
        let path = path.as_ref().to_path_buf();
        let temporary = temporary_name(&path);
        let file = File::create(&temporary).map_err(|source| Error::Write { path: path.clone(), source })?;
        let other = |e: String| Error::Write { path: path.clone(), source: std::io::Error::other(e) };
        let muxer = MuxerBuilder::new(BufWriter::new(file))
            .video(VideoCodec::H264, width as u32, height as u32, fps)
            .with_fast_start(true)
            .build()
            .map_err(|e| other(e.to_string()))?;
        let encoder = Encoder::with_api_config(OpenH264API::from_source(), encoder_config(width, height, fps))
            .map_err(|e| other(e.to_string()))?;
        let yuv = vec![0; width * height * 3 / 2];
        Ok(Self { path, temporary, muxer: Some(muxer), encoder, width, height, fps, frames: 0, yuv, bits: Vec::new() })
    }

    /// Appends a picture of the size given to `create`.
    pub fn push(&mut self, image: &Image) -> Result<()> {
        if (image.width & !1, image.height & !1) != (self.width, self.height) {
            return Err(Diagnostic::new(format!("the film {} got a picture of another size", self.path.display()))
                .expected(format!("{} x {} pixels", self.width, self.height))
                .into());
        }
        to_yuv(image, self.width, self.height, &mut self.yuv);
        let other = |e: String| Error::Write { path: self.path.clone(), source: std::io::Error::other(e) };
        let (y, chroma) = self.yuv.split_at(self.width * self.height);
        let (u, v) = chroma.split_at(chroma.len() / 2);
        let half = self.width / 2;
        let planes = YUVSlices::new((y, u, v), (self.width, self.height), (self.width, half, half));
        let stream = self.encoder.encode(&planes).map_err(|e| other(e.to_string()))?;
        let key = matches!(stream.frame_type(), FrameType::IDR | FrameType::I);
        self.bits.clear();
        stream.write_vec(&mut self.bits);
        let muxer = self.muxer.as_mut().expect("the muxer is there until finish takes self");
        muxer.write_video(self.frames as f64 / self.fps, &self.bits, key).map_err(|e| other(e.to_string()))?;
        self.frames += 1;
        Ok(())
    }

    /// Number of pictures so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Writes the file. A film without pictures leaves no file.
    pub fn finish(mut self) -> Result<()> {
        let muxer = self.muxer.take().expect("finish runs once, it takes self");
        if self.frames == 0 {
            return Ok(());
        }
        let fail = |source| Error::Write { path: self.path.clone(), source };
        muxer.finish().map_err(|e| fail(std::io::Error::other(e.to_string())))?;
        std::fs::rename(&self.temporary, &self.path).map_err(fail)
    }
}

impl Drop for Film {
    fn drop(&mut self) {
        // After a successful finish there is nothing under this name any more.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Constant quality: a quantizer so fine that smooth gradients neither band nor block.
fn encoder_config(width: usize, height: usize, fps: f64) -> EncoderConfig {
    let bits_per_second = (0.35 * (width * height) as f64 * fps.clamp(10.0, 60.0)).clamp(2e6, 80e6);
    EncoderConfig::new()
        // In this mode the encoder keeps to the range of the quantizer and never leaves out a frame.
        .rate_control_mode(RateControlMode::Bufferbased)
        .qp(QpRange::new(16, 16))
        .bitrate(BitRate::from_bps(bits_per_second as u32))
        .max_frame_rate(FrameRate::from_hz(fps.clamp(1.0, 60.0) as f32))
        .skip_frames(false)
        .scene_change_detect(false)
        .background_detection(false)
        .adaptive_quantization(false)
        .complexity(Complexity::Medium)
        .intra_frame_period(IntraFramePeriod::from_num_frames((2.0 * fps).ceil().clamp(1.0, 120.0) as u32))
        .num_threads(1)
        .vui(VuiConfig::bt709())
}

/// BT.709, limited range, chroma averaged over 2 x 2 pixels; fixed point with 16 bits.
fn to_yuv(image: &Image, width: usize, height: usize, yuv: &mut [u8]) {
    let (luma, chroma) = yuv.split_at_mut(width * height);
    let (blue, red) = chroma.split_at_mut(width * height / 4);
    let stride = 3 * image.width;
    for y in 0..height {
        let row = &image.rgb[y * stride..y * stride + 3 * width];
        for (to, c) in luma[y * width..(y + 1) * width].iter_mut().zip(row.chunks_exact(3)) {
            let (r, g, b) = (i32::from(c[0]), i32::from(c[1]), i32::from(c[2]));
            *to = ((11966 * r + 40254 * g + 4064 * b + (16 << 16) + 32768) >> 16) as u8;
        }
    }
    for y in 0..height / 2 {
        let (top, bottom) = (&image.rgb[2 * y * stride..], &image.rgb[(2 * y + 1) * stride..]);
        for x in 0..width / 2 {
            let sum = |k: usize| {
                let i = 6 * x + k;
                i32::from(top[i]) + i32::from(top[i + 3]) + i32::from(bottom[i]) + i32::from(bottom[i + 3])
            };
            let (r, g, b) = (sum(0), sum(1), sum(2));
            let middle = (128 << 18) + (1 << 17);
            blue[y * width / 2 + x] = ((-6596 * r - 22189 * g + 28784 * b + middle) >> 18) as u8;
            red[y * width / 2 + x] = ((28784 * r - 26145 * g - 2639 * b + middle) >> 18) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("phyxel_film_{}_{name}.mp4", std::process::id()))
    }

    /// Finds a box by a path of names inside `data` and returns what it holds.
    fn find<'a>(mut data: &'a [u8], names: &[&str]) -> &'a [u8] {
        for name in names {
            loop {
                let size = u32::from_be_bytes(data[..4].try_into().unwrap()) as usize;
                let (this, rest) = data.split_at(size);
                if &this[4..8] == name.as_bytes() {
                    data = &this[8..];
                    break;
                }
                data = rest;
            }
        }
        data
    }

    fn be32(data: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(data[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn film_has_the_frames_size_and_duration_given() {
        let path = path("ok");
        let mut film = Film::create(&path, 65, 48, 12.5).unwrap();
        for k in 0..7 {
            film.push(&Image::new(65, 48, [k * 30, 128, 255 - k * 30])).unwrap();
        }
        assert_eq!(film.frames(), 7);
        film.finish().unwrap();
        let data = std::fs::read(&path).unwrap();
        let track = find(&data, &["moov", "trak"]);
        let sizes = find(track, &["mdia", "minf", "stbl", "stsz"]);
        assert_eq!(be32(sizes, 8), 7);
        let head = find(track, &["tkhd"]);
        assert_eq!((be32(head, head.len() - 8) >> 16, be32(head, head.len() - 4) >> 16), (64, 48));
        let media = find(track, &["mdia", "mdhd"]);
        let seconds = f64::from(be32(media, 16)) / f64::from(be32(media, 12));
        assert!((seconds - 7.0 / 12.5).abs() < 1e-3, "{seconds}");
        // The index comes before the data, so that a browser can start at once.
        let at = |name: &[u8]| data.windows(4).position(|w| w == name).unwrap();
        assert!(at(b"moov") < at(b"mdat"));
        assert!(!temporary_name(&path).exists());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn film_without_pictures_leaves_nothing() {
        let path = path("empty");
        Film::create(&path, 64, 48, 30.0).unwrap().finish().unwrap();
        assert!(!path.exists() && !temporary_name(&path).exists());
    }

    #[test]
    fn film_refuses_bad_sizes_rates_and_places() {
        assert!(Film::create(path("size"), 0, 48, 30.0).is_err());
        assert!(Film::create(path("size"), 8000, 48, 30.0).is_err());
        assert!(Film::create(path("fps"), 64, 48, f64::NAN).is_err());
        assert!(Film::create("/nonexistent_folder/a.mp4", 64, 48, 30.0).is_err());
        let place = path("other");
        let mut film = Film::create(&place, 64, 48, 30.0).unwrap();
        assert!(film.push(&Image::new(32, 48, [0; 3])).is_err());
    }

    #[test]
    fn colors_follow_bt709() {
        let check = |rgb: [u8; 3], expected: [u8; 3]| {
            let mut yuv = vec![0; 6];
            to_yuv(&Image::new(2, 2, rgb), 2, 2, &mut yuv);
            assert_eq!([yuv[0], yuv[4], yuv[5]], expected, "{rgb:?}");
        };
        check([255, 255, 255], [235, 128, 128]);
        check([0, 0, 0], [16, 128, 128]);
        check([255, 0, 0], [63, 102, 240]);
        check([0, 0, 255], [32, 240, 118]);
    }
}
