import type { ValueVisitor } from '../value-visitor.ts';

/** The place of a text, as its reader reports it. */
export interface TextPlace {
  readonly start: number;
  readonly end: number;
}

/** Notes the places of all texts and bytes of a file, in their order, without their paths and values. */
export function textPlaces(read: (visitor: ValueVisitor) => void): readonly TextPlace[] {
  const places: TextPlace[] = [];
  const ignore = (): void => undefined;
  const note = (_value: unknown, start: number, end: number): void => {
    places.push({ start, end });
  };
  read({
    beginObject: ignore,
    endObject: ignore,
    beginArray: ignore,
    endArray: ignore,
    field: ignore,
    element: ignore,
    text: note,
    bytes: note,
    integer: ignore,
    other: ignore,
  });
  return places;
}
