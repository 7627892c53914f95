/**
 * Deflate for short texts that resemble a dictionary. For such texts, zlib's set-up takes longer than compressing, and creates
 * much work for the garbage collector. The output is one block with the fixed codes of RFC 1951. Any inflate with the same
 * dictionary can read it.
 */

/** Maximum length of a text. zlib compresses longer texts. */
export const longestShort = 4096;
/** Minimum length of a match. A reference to a shorter match would not save space. */
const minMatch = 4;
/** Maximum length of a match. Deflate allows 258, but that length has its own code and is hardly ever needed. */
const maxMatch = 257;
/** Maximum number of earlier positions to compare. The nearest comes first, and the search ends once a match is long enough. */
const maxTries = 24;
const longEnough = 48;
const hashBits = 12;
const nowhere = -1;
const endOfBlock = 256;
const firstLength = 257;

/**
 * Contract: the dictionary is at most `longestShort` bytes long, so that every reference stays within a window of 8 kB. No text
 * is longer than `longestShort`.
 */
export function createShortDeflate(dictionary: Uint8Array): (text: Uint8Array) => Uint8Array {
  const begin = dictionary.length;
  const bytes = new Uint8Array(begin + longestShort);
  bytes.set(dictionary);
  const places: Places = {
    bytes,
    latest: new Int16Array(1 << hashBits).fill(nowhere),
    earlier: new Int16Array(bytes.length),
  };
  for (let at = 0; at <= begin - minMatch; at++) remember(places, at);
  const latestInDictionary = places.latest.slice();
  const bits = createBits();

  return (text) => {
    bytes.set(text, begin);
    places.latest.set(latestInDictionary);
    // Begins the block: it is the last one and uses the fixed codes, which need no table.
    bits.write(0b011, 3);
    const end = begin + text.length;
    for (let at = begin; at < end; ) at += writeNext(bits, places, at, end);
    bits.symbol(endOfBlock);
    return bits.take();
  };
}

/** Writes a reference or one byte. Returns the number of bytes of the text that were written in this way. */
function writeNext(bits: Bits, places: Places, at: number, end: number): number {
  /** The last position at which a match can begin. */
  const lastMatch = end - minMatch;
  const place = at <= lastMatch ? longestMatch(places, at, end) : nowhere;
  const length = place === nowhere ? 1 : equalBytes(places.bytes, place, at, end);
  if (place === nowhere) bits.symbol(places.bytes[at] ?? 0);
  else bits.reference(length, at - place);
  // Remembers only the first position of a match. The bytes at its other positions are already known from the earlier copy.
  if (at <= lastMatch) remember(places, at);
  return length;
}

interface Places {
  /** The dictionary, followed by the text. */
  readonly bytes: Uint8Array;
  /** The last position of every hash, and, for each position, the previous position with the same hash. */
  readonly latest: Int16Array;
  readonly earlier: Int16Array;
}

function remember({ bytes, latest, earlier }: Places, at: number): void {
  const hash = hashAt(bytes, at);
  earlier[at] = latest[hash] ?? nowhere;
  latest[hash] = at;
}

/** The earlier position with the longest match, or `nowhere`. */
function longestMatch({ bytes, latest, earlier }: Places, at: number, end: number): number {
  let longest = minMatch - 1;
  let found = nowhere;
  let place = latest[hashAt(bytes, at)] ?? nowhere;
  for (let tries = 0; place !== nowhere && tries < maxTries && longest < longEnough; tries++) {
    // A longer match must also agree at this position. This check rules out most candidates quickly.
    const isLonger = bytes[place + longest] === bytes[at + longest];
    const length = isLonger ? equalBytes(bytes, place, at, end) : 0;
    if (length > longest) {
      longest = length;
      found = place;
    }
    place = earlier[place] ?? nowhere;
  }
  return found;
}

function equalBytes(bytes: Uint8Array, place: number, at: number, end: number): number {
  const most = Math.min(maxMatch, end - at);
  let length = 0;
  while (length < most && bytes[place + length] === bytes[at + length]) length++;
  return length;
}

/** Hash of the next bytes, as many as the shortest match has. */
function hashAt(bytes: Uint8Array, at: number): number {
  const first = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
  const second = (bytes[at + 2] ?? 0) | ((bytes[at + 3] ?? 0) << 8);
  return Math.imul(first | (second << 16), 0x9e3779b1) >>> (32 - hashBits);
}

interface Bits {
  /** Writes `count` bits, the lowest bit first. */
  write(value: number, count: number): void;
  /** Writes the code of a byte, a length, or the end of the block. */
  symbol(symbol: number): void;
  reference(length: number, distance: number): void;
  /** Returns everything written since the last call. */
  take(): Uint8Array;
}

function createBits(): Bits {
  // A byte never takes more than nine bits.
  const written = new Uint8Array(Math.ceil((longestShort * 9) / 8) + 8);
  let size = 0;
  let open = 0;
  let openCount = 0;
  const write = (value: number, count: number): void => {
    open |= value << openCount;
    for (openCount += count; openCount >= 8; openCount -= 8) {
      written[size++] = open & 0xff;
      open >>>= 8;
    }
  };
  const symbol = (value: number): void => write(symbolCodes[value] ?? 0, symbolBits[value] ?? 0);
  return {
    write,
    symbol,
    reference: (length, distance) => {
      const step = lengthSteps.stepOf[length] ?? 0;
      symbol(firstLength + step);
      write(length - (lengthSteps.first[step] ?? 0), lengthSteps.bits[step] ?? 0);
      const far = distanceSteps.stepOf[distance] ?? 0;
      write(mirrored(far, 5), 5);
      write(distance - (distanceSteps.first[far] ?? 0), distanceSteps.bits[far] ?? 0);
    },
    take: () => {
      if (openCount > 0) write(0, 8 - openCount);
      const taken = written.slice(0, size);
      size = 0;
      return taken;
    },
  };
}

/** Reverses the bits of a code. Codes are written with the highest bit first, and everything else with the lowest bit first. */
function mirrored(code: number, count: number): number {
  let mirror = 0;
  for (let bit = 0; bit < count; bit++) mirror |= ((code >>> bit) & 1) << (count - 1 - bit);
  return mirror;
}

/** The fixed codes of RFC 1951, 3.2.6. */
const fixedCodes = [
  { from: 0, to: 143, code: 0x30, count: 8 },
  { from: 144, to: 255, code: 0x190, count: 9 },
  { from: 256, to: 279, code: 0, count: 7 },
  { from: 280, to: 287, code: 0xc0, count: 8 },
] as const;
const symbolCodes = new Uint16Array(288);
const symbolBits = new Uint8Array(288);
for (const { from, to, code, count } of fixedCodes) {
  for (let symbol = from; symbol <= to; symbol++) {
    symbolCodes[symbol] = mirrored(code + symbol - from, count);
    symbolBits[symbol] = count;
  }
}

/** Ranges of lengths or distances: the first value of each range, and the number of bits for an offset in it. */
interface Steps {
  readonly first: readonly number[];
  readonly bits: readonly number[];
  readonly stepOf: Uint8Array;
}

/** RFC 1951, 3.2.5: after the first ranges, each group of `perSize` ranges is twice as wide as the group before. */
function createSteps(start: number, perSize: number, most: number): Steps {
  const first: number[] = [];
  const bits: number[] = [];
  const stepOf = new Uint8Array(most + 1);
  for (let value = start; value <= most; ) {
    const step = first.length;
    const count = Math.max(0, Math.floor(step / perSize) - 1);
    first.push(value);
    bits.push(count);
    stepOf.fill(step, value, value + (1 << count));
    value += 1 << count;
  }
  return { first, bits, stepOf };
}

const distanceSteps = createSteps(1, 2, 2 * longestShort);
const lengthSteps = createSteps(3, 4, maxMatch);
