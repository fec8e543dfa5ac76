const WORDS = 5000;
const ENDINGS = [
  'ですね。',
  'ます。',
  'だよ!',
  'でしょうか?',
  'なの……',
  'してください。',
  'ました。',
  'だと思う。',
];

/** A sentence of three to eight words, frequent ones more often, and a frequent ending. No two are equal. */
export function sentenceOf(index: number): string {
  const random = createRandom(index + 1);
  let text = '';
  for (let word = 3 + Math.floor(random() * 6); word > 0; word -= 1)
    text += wordOf(Math.floor(random() ** 3 * WORDS));
  const mark = String.fromCodePoint(0x4e_00 + (index % 1000), 0x4e_00 + Math.floor(index / 1000));
  return `${text}${mark}${index % 10}${ENDINGS[index % ENDINGS.length] ?? ''}`;
}

/** A word of two to four kana or kanji; sentences have the first 5,000. */
export function wordOf(index: number): string {
  const random = createRandom(index * 31 + 7);
  const isKana = random() < 0.5;
  let word = '';
  for (let left = 2 + Math.floor(random() * 3); left > 0; left -= 1) {
    word += String.fromCodePoint(
      isKana ? 0x30_42 + Math.floor(random() * 80) : 0x4e_00 + Math.floor(random() * 2000),
    );
  }
  return word;
}

/** Numbers from 0 to 1 that are the same for the same seed. */
export function createRandom(seed: number): () => number {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
