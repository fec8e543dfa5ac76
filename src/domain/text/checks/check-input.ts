import type { Span } from './finding.ts';

/**
 * How a field writes tags. `none`: it has no tags. `angle`: each `<name>` is closed by `</name>`. `unity-rich-text`: those of
 * TextMeshPro and Unity UI, also `<#hex>`, `<br>`, `<sprite name=x>` and tags that are not closed. Square tags such as
 * `[ruby=かな]` are tags in both.
 */
type TagGrammar = 'none' | 'angle' | 'unity-rich-text';

export interface FieldEncoding {
  /** For messages, such as `CP932`. */
  readonly name: string;
  /** The bytes of a character, or `null` when the encoding does not have it. */
  bytesOf(codePoint: number): number | null;
}

/** The demands of a field on its text. Without a limit everything is allowed. */
export interface FieldConstraints {
  readonly maxBytes?: number | undefined;
  readonly maxCharacters?: number | undefined;
  /** Columns of the widest line; see `displayWidth`. */
  readonly maxWidth?: number | undefined;
  readonly maxLines?: number | undefined;
  readonly encoding?: FieldEncoding | undefined;
  /** The code points that the font of the game can show. */
  readonly glyphs?: { has(codePoint: number): boolean } | undefined;
  readonly tagGrammar?: TagGrammar | undefined;
  /** Whether another number of line breaks is an error. Default: false, a warning. */
  readonly sameLineBreaks?: boolean | undefined;
  /** Finds more placeholders, in their order and without overlap, in time linear in the length of the text. */
  readonly findPlaceholders?: ((text: string) => readonly Span[]) | undefined;
}

export interface CheckInput extends FieldConstraints {
  readonly source: string;
  readonly target: string;
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
}
