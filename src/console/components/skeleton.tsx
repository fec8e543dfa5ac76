import type { JSX } from 'preact';

/** The place of a row that has not arrived. */
export function Skeleton(): JSX.Element {
  return (
    <span class="skeleton">
      <span class="unseen">Loading …</span>
    </span>
  );
}
