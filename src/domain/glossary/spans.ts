import type { Span } from './term.ts';

// Lists of spans here are sorted, and their spans do not overlap each other.

/** Whether a span has a character in one of the list. */
export function overlapsOne(spans: readonly Span[], { start, end }: Span): boolean {
  return (firstEndingAfter(spans, start)?.start ?? Infinity) < end;
}

/** Whether a span lies inside of one of the list. */
export function isInsideOne(spans: readonly Span[], { start, end }: Span): boolean {
  const outer = firstEndingAfter(spans, start);
  return outer !== undefined && outer.start <= start && end <= outer.end;
}

/** The list that covers the same characters as spans in any order. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.toSorted((left, right) => left.start - right.start)) {
    const last = merged.at(-1);
    if (last === undefined || last.end <= span.start) merged.push(span);
    else merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
  }
  return merged;
}

function firstEndingAfter(spans: readonly Span[], offset: number): Span | undefined {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.end ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return spans[low];
}
