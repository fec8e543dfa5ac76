import type { ValueVisitor } from '../../src/formats/value-visitor.ts';

/** One event of a format reader: the name of the visitor's method and its arguments. */
export type ValueEvent = readonly unknown[];

/** A visitor that keeps every event in order. */
export function recordValues(): { readonly visitor: ValueVisitor; readonly events: ValueEvent[] } {
  const events: ValueEvent[] = [];
  const keep =
    (name: string) =>
    (...values: unknown[]): void => {
      events.push([name, ...values]);
    };
  return {
    events,
    visitor: {
      beginObject: keep('beginObject'),
      endObject: keep('endObject'),
      beginArray: keep('beginArray'),
      endArray: keep('endArray'),
      field: keep('field'),
      element: keep('element'),
      text: keep('text'),
      bytes: keep('bytes'),
      integer: keep('integer'),
      label: keep('label'),
      other: keep('other'),
    },
  };
}

/** Rebuilds the values of a file from their events, without the names of elements. */
export function valuesOf(events: readonly ValueEvent[]): unknown {
  const found: unknown[] = [];
  const stack: { readonly value: unknown; name: string | null }[] = [{ value: found, name: null }];
  const add = (value: unknown): void => {
    const top = stack.at(-1);
    if (top === undefined) throw new Error('a value follows the end');
    if (Array.isArray(top.value)) top.value.push(value);
    else if (top.name !== null) Object.assign(top.value as object, { [top.name]: value });
    else throw new Error('a value of an object has no name');
    top.name = null;
  };
  const begin = (value: unknown): void => {
    add(value);
    stack.push({ value, name: null });
  };
  for (const [name, value] of events) {
    const top = stack.at(-1);
    if (name === 'beginObject') begin({});
    else if (name === 'beginArray') begin([]);
    else if (name === 'endObject' || name === 'endArray') stack.pop();
    else if (name === 'field') {
      if (top === undefined) throw new Error('a name follows the end');
      top.name = String(value);
    } else if (name !== 'element') add(name === 'other' ? null : value);
  }
  if (stack.length !== 1) throw new Error(`${stack.length - 1} values have no end`);
  return found[0];
}
