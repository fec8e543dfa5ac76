import { normalText } from '../text/normal-text.ts';

/** The parts of a unit that decide which others have the same translation. */
export interface RepeatableUnit {
  readonly sourceText: string;
  readonly speaker: string | null;
  readonly fieldPath: string;
}

/**
 * The class of a field: its path with every position in a list, a table or a text replaced by `*`, so that the same column of
 * two rows is one class.
 */
export function fieldClass(fieldPath: string): string {
  return fieldPath.replaceAll(/\[[^\]]*\]/g, '[*]').replaceAll(/(?<=\/)\d+(?=\/|#|$)/g, '*');
}

/**
 * The key of a group of repetitions: units with an equal key have the same text, speaker and class of field, and are translated
 * once.
 */
export function repetitionKey({ sourceText, speaker, fieldPath }: RepeatableUnit): string {
  return JSON.stringify([normalText(sourceText), speaker, fieldClass(fieldPath)]);
}
