import { createGlobTest } from '../../../platform/config/glob.ts';
import type { ReadBoxes } from '../../parse/index/read/unit-translations.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { constraintLookup } from './target-judge.ts';
import type { TextRules } from './text-rules.ts';

/** A box as the configuration names it. */
export interface ConfiguredBox {
  readonly files: string;
  readonly columns: number;
  readonly lines: number;
  readonly fontWidth: number;
}

/**
 * Creates the reading of boxes: the first configured one that names the file, otherwise the limits of the rule of the text.
 *
 * @param rules throws ServiceError when a file of characters cannot be read; then there are only the configured boxes
 */
export function createTextBoxes(
  boxes: () => readonly ConfiguredBox[],
  rules: () => Promise<TextRules>,
): ReadBoxes {
  return async () => {
    const configured = boxes().map(({ files, columns, lines, fontWidth }) => ({
      names: createGlobTest(files),
      box: { columns, lines, font_width: fontWidth },
    }));
    const limitsOf = await rules().then(constraintLookup, (error: unknown) => {
      if (error instanceof ServiceError) return null;
      throw error;
    });
    return ({ destination, archive_entry: archiveEntry, field_path: fieldPath }) => {
      const own = configured.find(({ names }) => names(destination));
      if (own !== undefined) return own.box;
      const place = { destination, archiveEntry, fieldPath: fieldPath ?? '', speaker: null, scene: null };
      const { maxWidth = null, maxLines = null } = limitsOf?.(place) ?? {};
      return maxWidth === null && maxLines === null
        ? null
        : { columns: maxWidth, lines: maxLines, font_width: 1 };
    };
  };
}
