/** The small parts of every page. Text goes into text nodes only; nothing here turns it into markup. */

import type { ComponentChildren, JSX } from 'preact';
import type { ApiFailure } from '../api/api-client.ts';
import { useApp, useWholeContract } from '../state/app.ts';
import { absolute, relative, sentences, utc } from '../text/format.ts';

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'idle' | 'unknown';

/** A state in one or two words. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/**
 * An instant relative to now, and by the clock in its tooltip.
 *
 * @param props `at`: Unix seconds; `otherwise`: shown when there is none; `clock`: `beside` it, for single facts, or
 *   `instead` of it, after words such as `since`
 */
export function Time({
  at,
  otherwise = '–',
  clock,
}: {
  readonly at: number | null | undefined;
  readonly otherwise?: string;
  readonly clock?: 'beside' | 'instead';
}): JSX.Element {
  const app = useApp();
  if (at === null || at === undefined) return <span class="muted">{otherwise}</span>;
  const now = app.now();
  return (
    <time dateTime={utc(at)} title={`${absolute(at, now)} · ${utc(at)}`}>
      <span>{(clock === 'instead' ? absolute : relative)(at, now)}</span>
      {clock !== 'beside' ? null : (
        <>
          {' '}
          <span class="clock">{absolute(at, now)}</span>
        </>
      )}
    </time>
  );
}

/** A sentence of the contract; text in backticks becomes code. */
export function Prose({ text }: { text: string }): JSX.Element {
  return (
    <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
  );
}

/** A term and its value; a row without a value is left out. */
export type Fact = readonly [term: string, value: ComponentChildren];

/** Terms and values. */
export function Facts({ rows }: { rows: readonly Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Said where there is nothing to show; it says what to do. */
export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

/** Said until the first answer of a report. */
export function Loading(): JSX.Element {
  return (
    <p class="empty" aria-busy="true">
      Loading …
    </p>
  );
}

/** A text of several lines as it is. It scrolls, so the keyboard must be able to reach it. */
export function RawText({ label, text }: { label: string; text: string }): JSX.Element {
  return (
    <pre tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  );
}

/** Takes the place of a list that has nothing to show, and says what to do about it. */
export function EmptyState({
  title,
  children,
  actions,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty-state">
      <p class="empty-title">{title}</p>
      <p class="muted">{children}</p>
      {actions === undefined ? null : <p class="buttons">{actions}</p>}
    </div>
  );
}

/** The place of a row that has not arrived. */
export function Skeleton(): JSX.Element {
  return (
    <span class="skeleton">
      <span class="unseen">Loading …</span>
    </span>
  );
}

/** A failure in sentences: what is wrong, and what to do. Its code is in the tooltip, for those who search for it. */
export function FailureText({ failure }: { failure: ApiFailure }): JSX.Element {
  const app = useApp();
  const { runbooks } = app.contract;
  const contract = useWholeContract();
  const { documentation } = failure.problem;
  const meaning = contract?.problems[failure.code];
  return (
    <span title={failure.code}>
      <strong>{sentences(failure.message, app.now())}</strong>
      {meaning === undefined ? null : (
        <>
          {' '}
          <Prose text={meaning} />
        </>
      )}
      {/* Only to the runbooks of this server: the text may come from another machine. */}
      {documentation?.startsWith(runbooks) === true ? (
        <>
          {' '}
          <a href={documentation} rel="noreferrer">
            Runbook
          </a>
        </>
      ) : null}
    </span>
  );
}

/** Stands in for an answer that has not come. @param props `failure`: why it will not; `null` while it is pending */
export function AnswerNote({ failure }: { failure: ApiFailure | null }): JSX.Element {
  return failure === null ? (
    <p class="muted" aria-busy="true">
      Searching …
    </p>
  ) : (
    <p class="muted">
      <FailureText failure={failure} />
    </p>
  );
}
