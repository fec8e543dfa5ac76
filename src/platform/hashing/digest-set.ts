interface DigestSet {
  /** @param digest at least 8 bytes of a cryptographic hash. @returns whether the digest was not in the set before */
  add(digest: Uint8Array): boolean;
}

const FIRST_SLOTS = 1024;

/**
 * Creates a set that keeps the first 8 bytes of each digest, without an object for each. It takes 16 to 32 bytes a digest.
 * Among 4,000,000 different digests, the chance that two are treated as the same one is below 1 in 1,000,000.
 */
export function createDigestSet(): DigestSet {
  /** Two words a slot; both are zero in an empty one. */
  let words = new Uint32Array(FIRST_SLOTS * 2);
  let count = 0;

  /** The first word of the slot that has these words, or of the empty slot where they belong. */
  const find = (low: number, high: number): number => {
    const mask = words.length - 1;
    for (let at = (low * 2) & mask; ; at = (at + 2) & mask) {
      const [first, second] = [words[at] ?? 0, words[at + 1] ?? 0];
      if ((first === low && second === high) || (first === 0 && second === 0)) return at;
    }
  };

  const put = (low: number, high: number): boolean => {
    const at = find(low, high);
    if (words[at] === low && words[at + 1] === high) return false;
    words[at] = low;
    words[at + 1] = high;
    return true;
  };

  const grow = (): void => {
    const old = words;
    words = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 2) {
      const [low, high] = [old[at] ?? 0, old[at + 1] ?? 0];
      if (low !== 0 || high !== 0) put(low, high);
    }
  };

  return {
    add: (digest) => {
      const view = new DataView(digest.buffer, digest.byteOffset, digest.byteLength);
      // The words of an empty slot belong to no digest.
      const low = view.getUint32(0, true) || 1;
      if (!put(low, view.getUint32(4, true))) return false;
      count += 1;
      if (count * 4 > words.length) grow();
      return true;
    },
  };
}
