import type { SourceUnit } from '../judge/unit-source.ts';

/** A text of the scene beside those that are asked for. */
export interface SceneText {
  /** In its file: the texts of a scene are in this order. */
  readonly place: number;
  readonly speaker: string | null;
  readonly text: string;
  /** A translation that a person made or accepted; `null` without one. */
  readonly target: string | null;
}

/** The place of a text in its file, and the texts around it. */
export interface PlacedText {
  readonly place: number;
  readonly around: readonly SceneText[];
}

/** Stands in a script for texts that are left out. */
const GAP = '…';

/**
 * Finds the place of a text, and the texts around it.
 *
 * @param targets the translations that may be shown, by the place of their text
 */
export function placedText(
  { unit, before, after }: SourceUnit,
  targets: ReadonlyMap<number, string> = new Map(),
): PlacedText {
  const around = [...before, ...after].map(({ ordinal: place, speaker, sourceText: text }) => ({
    place,
    speaker,
    text,
    target: targets.get(place) ?? null,
  }));
  return { place: unit.ordinal, around };
}

/**
 * Writes the lines of a request and the texts around them as one script: in the order of the story, each text once. The names of
 * speakers, which some files have as texts of their own, are left out.
 *
 * @param describe gives the entry of a line
 */
export function writeScript<Line extends { readonly unit: PlacedText & { readonly speaker: string | null } }>(
  lines: readonly Line[],
  describe: (line: Line) => object,
): readonly (object | string)[] {
  const around = lines.flatMap(({ unit }) => unit.around);
  const speakers = new Set([...around, ...lines.map(({ unit }) => unit)].map(({ speaker }) => speaker));
  const entries = new Map<number, object | null>();
  for (const text of around) entries.set(text.place, speakers.has(text.text) ? null : describeText(text));
  for (const line of lines) entries.set(line.unit.place, describe(line));
  const places = [...entries].toSorted(([one], [other]) => one - other);
  return places.flatMap(([place, entry], at) => {
    const previous = places[at - 1]?.[0] ?? place;
    const gap = place - previous > 1 ? [GAP] : [];
    return entry === null ? gap : [...gap, entry];
  });
}

function describeText({ speaker, text, target }: SceneText): object {
  return {
    ...(speaker === null ? {} : { speaker }),
    text,
    ...(target === null ? {} : { translation: target }),
  };
}
