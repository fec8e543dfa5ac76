import type { Span } from './finding.ts';

/** Kinds of tags: `<b>` and `[b]`. */
export type TagStyle = 'angle' | 'square';

/** An encoding as a field limits it. */
export interface FieldEncoding {
  /** For messages, such as `CP932`. */
  readonly name: string;
  /** The bytes of a character, or `null` when the encoding does not have it. */
  bytesOf(codePoint: number): number | null;
}

/** The demands of a field on its text. Without a limit everything is allowed. */
export interface FieldConstraints {
  /** Bytes of the whole text in its encoding. */
  readonly maxBytes?: number | undefined;
  /** Unicode code points of the whole text. */
  readonly maxCharacters?: number | undefined;
  /** Columns of the widest line; see `displayWidth`. */
  readonly maxWidth?: number | undefined;
  readonly maxLines?: number | undefined;
  /** Default: UTF-8. */
  readonly encoding?: FieldEncoding | undefined;
  /** The code points that the font of the game can show. */
  readonly glyphs?: { has(codePoint: number): boolean } | undefined;
  /** The tags that the field interprets. Default: both. Empty: `<b>` is text. */
  readonly tagStyles?: readonly TagStyle[] | undefined;
  /** Whether another number of line breaks is an error. Default: false, a warning. */
  readonly sameLineBreaks?: boolean | undefined;
  /** Finds more placeholders, in their order and without overlap, in time linear in the length of the text. */
  readonly findPlaceholders?: ((text: string) => readonly Span[]) | undefined;
}

/** A target to check. */
export interface CheckInput extends FieldConstraints {
  readonly source: string;
  readonly target: string;
  /** BCP 47, such as `ja`. */
  readonly sourceLanguage: string;
  /** BCP 47, such as `zh-Hans`. */
  readonly targetLanguage: string;
}
