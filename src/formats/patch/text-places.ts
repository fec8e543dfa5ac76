import { visitorOf, type ValueVisitor } from '../value-visitor.ts';

interface TextPlace {
  readonly start: number;
  readonly end: number;
}

/** Notes the places of all texts and bytes of a file, in their order, without their paths and values. */
export function textPlaces(read: (visitor: ValueVisitor) => void): readonly TextPlace[] {
  const places: TextPlace[] = [];
  const note = (_value: unknown, start: number, end: number): void => {
    places.push({ start, end });
  };
  read(visitorOf({ text: note, bytes: note }));
  return places;
}
