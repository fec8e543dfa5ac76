import type { TextUnitsBody } from './text-units.ts';

export interface TranslationsRequest {
  readonly releaseId: string | null;
  readonly generation: number;
  readonly units: readonly { readonly unitId: string; readonly sourceDigest: string }[];
  readonly withHistory: boolean;
  /** Bytes of JSON after which the answer ends; it has at least one unit. */
  readonly maxBytes: number;
}

/** The translations of the first units of a request, in their order; of all of them unless `maxBytes` was too little. */
export interface FoundTranslations {
  readonly targetLanguage: string;
  /** Whether the translation tasks are those of the release and the generation. */
  readonly isBuilt: boolean;
  readonly items: readonly UnitTranslation[];
  readonly history: UnitHistory | null;
}

/** The box of the game that shows a text. */
export type TextBox = NonNullable<TextUnitsBody['items'][number]['box']>;

/** Where a text is, as far as its box depends on it. */
export interface BoxPlace {
  readonly destination: string;
  readonly archive_entry: string | null;
  readonly field_path: string | null;
}

/** Prepares the look-up of boxes in the current configuration. The work on translations implements it. */
export type ReadBoxes = () => Promise<(place: BoxPlace) => TextBox | null>;

export type UnitTranslation = NonNullable<TextUnitsBody['items'][number]['translation']>;

export type UnitHistory = NonNullable<TextUnitsBody['history']>;

/**
 * Reads the translations of units. The work on translations implements it.
 *
 * @returns the translations, or why there are none now
 */
export type ReadTranslations = (
  request: TranslationsRequest,
  signal: AbortSignal,
) => Promise<(FoundTranslations & { readonly sourceLanguage: string }) | { readonly unavailable: string }>;
