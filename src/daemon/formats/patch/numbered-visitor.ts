import type { ValueVisitor } from '../value-visitor.ts';

/**
 * A visitor that hands every event on, with other positions: a format whose places are more than two positions numbers
 * them instead.
 *
 * @param number gives the number of a text or of bytes
 */
export function numberedVisitor(
  visitor: ValueVisitor,
  number: (value: string | Uint8Array, start: number) => number,
): ValueVisitor {
  return {
    beginObject: visitor.beginObject.bind(visitor),
    endObject: visitor.endObject.bind(visitor),
    beginArray: visitor.beginArray.bind(visitor),
    endArray: visitor.endArray.bind(visitor),
    field: visitor.field.bind(visitor),
    element: visitor.element.bind(visitor),
    integer: visitor.integer.bind(visitor),
    other: visitor.other.bind(visitor),
    text: (value, start) => {
      const place = number(value, start);
      visitor.text(value, place, place);
    },
    bytes: (value, start) => {
      const place = number(value, start);
      visitor.bytes(value, place, place);
    },
  };
}
