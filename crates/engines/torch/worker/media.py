# Pictures and recordings made ready for a module, as its preprocessor configuration says: decoded, brought to size,
# normalised. Pictures are PIL's affair, as in `transformers`; recordings are read and transformed by PyTorch alone.

import io
import struct


class Media:
    """Files that become an input, read once; what is done to them is done in every sample."""

    def __init__(self, job, specs):
        self.recipe, self.paths = job["recipe"], job["files"]
        self.place = next(place for place, spec in enumerate(specs) if spec["name"] == job["input"])
        spec = specs[self.place]
        self.dims, self.dtype = spec["dims"], declared_type(spec["dtype"])
        self.files = []
        for path in self.paths:
            try:
                with open(path, "rb") as file:
                    self.files.append(file.read())
            except OSError as error:
                raise unusable(path, spell(error))
        self.make_one = {"image": picture_maker, "sound": sound_maker, "spectrogram": spectrogram_maker}[
            self.recipe["kind"]
        ](self.recipe)

    def make(self):
        """The input, made of the files from the first byte on."""
        each, made = 1, []
        for size in self.dims:
            each *= size
        each //= max(len(self.files), 1)
        for path, data in zip(self.paths, self.files):
            try:
                values = self.make_one(data, each)
            except Failure:
                raise
            except Exception as error:
                raise unusable(path, spell(error))
            if values.numel() != each:
                raise unusable(path, "it gives %d numbers, the input takes %d" % (values.numel(), each))
            made.append(values.reshape(-1))
        return torch.cat(made).reshape(self.dims).to(self.dtype)


def unusable(path, why):
    return Failure("bad-input", "could not prepare `%s`" % path, [why])


def picture_maker(recipe):
    Image = require("PIL.Image", "reads pictures", "pillow")
    # The size was checked when the file was read first; PIL's own limit is lower.
    Image.MAX_IMAGE_PIXELS = None
    filters = Image.Resampling
    filter = {
        "nearest": filters.NEAREST,
        "bilinear": filters.BILINEAR,
        "bicubic": filters.BICUBIC,
        "lanczos": filters.LANCZOS,
    }[recipe["filter"]]
    mean, std = torch.tensor(recipe["mean"]), torch.tensor(recipe["std"])

    def make(data, _count):
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        width, height = picture.size
        high, wide = resized(height, width, recipe["resize"])
        if (high, wide) != (height, width):
            picture = picture.resize((wide, high), filter)
        if recipe["crop"] is not None:
            crop_high, crop_wide = recipe["crop"]
            top, left = (high - crop_high) // 2, (wide - crop_wide) // 2
            # What lies outside is black.
            picture = picture.crop((left, top, left + crop_wide, top + crop_high))
        width, height = picture.size
        pixels = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8).reshape(height, width, 3)
        pixels = (pixels.to(torch.float32) * recipe["rescale"] - mean) / std
        return pixels if recipe["channels_last"] else pixels.permute(2, 0, 1)

    return make


def resized(height, width, resize):
    if resize is None:
        return height, width
    if resize["to"] == "exact":
        return resize["height"], resize["width"]
    edge = resize["edge"]
    # The longer side is cut to whole pixels, as `transformers` does.
    return (edge, edge * width // height) if height <= width else (edge * height // width, edge)


def sound_maker(recipe):
    def make(data, count):
        sound = read_wav(data, recipe["rate"])
        if recipe["normalize"]:
            numbers = sound.to(torch.float64)
            # What keeps silence finite in `transformers`.
            scale = (numbers.var(correction=0) + 1e-7).sqrt()
            sound = ((numbers - numbers.mean()) / scale).to(torch.float32)
        # Shorter ones are followed by silence.
        return torch.nn.functional.pad(sound, (0, max(count - sound.numel(), 0)))

    return make


def spectrogram_maker(recipe):
    size, hop, frames = max(recipe["window"], 2), recipe["hop"], recipe["frames"]
    window = torch.hann_window(size)
    bands = mel_bands(recipe["bands"], recipe["rate"], size)

    def make(data, _count):
        sound = read_wav(data, recipe["rate"])[: frames * hop]
        sound = torch.nn.functional.pad(sound, (0, frames * hop - sound.numel()))
        heard = torch.stft(sound, size, hop, window=window, return_complex=True)[..., :frames]
        power = bands @ heard.abs().square()
        values = power.clamp(min=1e-10).log10()
        return (torch.maximum(values, values.max() - 8.0) + 4.0) / 4.0

    return make


def mel_bands(count, rate, size):
    """Triangles whose corners lie evenly on the mel scale, each of the same area: `[bands, frequencies]`."""
    import math

    step, bend, bend_mel, mels = math.log(6.4), 1000.0, 15.0, 27.0
    highest = rate / 2
    top = highest * bend_mel / bend if highest < bend else bend_mel + mels * math.log(highest / bend) / step
    mel = torch.linspace(0.0, top, count + 2, dtype=torch.float64)
    corners = torch.where(mel < bend_mel, mel * bend / bend_mel, bend * torch.exp(step * (mel - bend_mel) / mels))
    bins = torch.arange(size // 2 + 1, dtype=torch.float64) * rate / size
    low, peak, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    weights = torch.minimum((bins - low) / (peak - low), (high - bins) / (high - peak)).clamp(min=0.0)
    return (weights * 2.0 / (high - low)).to(torch.float32)


def read_wav(data, rate):
    """The samples of a recording from -1 to 1, its channels averaged."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError("it is no WAV file")
    form = body = None
    at = 12
    while at + 8 <= len(data) and body is None:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        chunk = data[at + 8 : at + 8 + size]
        if name == b"fmt ":
            form = chunk
        elif name == b"data":
            body = chunk
        at += 8 + size + size % 2
    if form is None or len(form) < 16 or body is None:
        raise ValueError("it ends before its samples")
    kind, channels, found, _, _, bits = struct.unpack("<HHIIHH", form[:16])
    if kind == 0xFFFE and len(form) >= 26:
        # The extensible form names the kind further on.
        kind = int.from_bytes(form[24:26], "little")
    if found != rate:
        raise ValueError("it has %d samples per second, the model takes %d; resample it first" % (found, rate))
    channels = max(channels, 1)
    sound = levels(body, kind, bits)
    return sound[: sound.numel() // channels * channels].reshape(-1, channels).mean(1)


def levels(body, kind, bits):
    body = bytearray(body[: len(body) // max(bits // 8, 1) * max(bits // 8, 1)])
    if kind == 3 and bits == 32:
        return torch.frombuffer(body, dtype=torch.float32)
    if kind == 1 and bits == 8:
        return (torch.frombuffer(body, dtype=torch.uint8).to(torch.float32) - 128.0) / 128.0
    if kind == 1 and bits in (16, 32):
        numbers = torch.frombuffer(body, dtype=torch.int16 if bits == 16 else torch.int32)
        return (numbers.to(torch.float64) / 2.0 ** (bits - 1)).to(torch.float32)
    if kind == 1 and bits == 24:
        parts = torch.frombuffer(body, dtype=torch.uint8).reshape(-1, 3).to(torch.int32)
        numbers = parts[:, 0] | parts[:, 1] << 8 | parts[:, 2] << 16
        return (numbers - ((numbers >> 23) << 24)).to(torch.float32) / 2.0**23
    raise ValueError("its samples have %d bits in format %d, which is not read" % (bits, kind))
