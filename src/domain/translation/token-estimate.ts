/** Characters of Latin text in one token; real tokenizers have about four, and an estimate should be high. */
const ASCII_PER_TOKEN = 3;
/** Tokens of one character of another script, such as kana, ideographs and Cyrillic. */
const TOKENS_PER_OTHER = 1.5;

/**
 * Estimates the tokens of a text for a language model. Tokenizers differ; the estimate is meant to be too high rather than too
 * low.
 */
export function estimateTokens(text: string): number {
  let ascii = 0;
  let other = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) < 0x80) ascii += 1;
    else other += 1;
  }
  return Math.ceil(ascii / ASCII_PER_TOKEN + other * TOKENS_PER_OTHER);
}
