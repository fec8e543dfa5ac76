import type { ComponentChildren, JSX } from 'preact';
import type { ApiFailure } from '../api/api-client.ts';
import type { FeedState } from '../api/live-feed.ts';
import { useApp, type App } from '../state/app.ts';
import { verdictState } from '../state/verdict.ts';
import { duration } from '../text/format.ts';
import { FailureText } from './failure-text.tsx';

/** A titled part of a page that shows one feed. Every panel shows loading, failures and old data in the same way. */
export function Panel<T>({
  title,
  feed,
  tools,
  children,
}: {
  readonly title: string;
  readonly feed: FeedState<T>;
  /** Next to the title. */
  readonly tools?: ComponentChildren;
  readonly children: (value: T) => ComponentChildren;
}): JSX.Element {
  const id = `panel-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  const isLoading = feed.value === null && feed.failure === null;
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        <div class="tools">{tools}</div>
      </div>
      {feed.failure === null ? null : <FailureNote feed={feed} failure={feed.failure} />}
      {isLoading ? (
        <p class="empty" aria-busy="true">
          Loading …
        </p>
      ) : null}
      {feed.value === null ? null : children(feed.value)}
    </section>
  );
}

function FailureNote({
  feed: { loadedAt, nextAt },
  failure,
}: {
  readonly feed: FeedState<unknown>;
  readonly failure: ApiFailure;
}): JSX.Element {
  const app = useApp();
  const now = app.localNow();
  const age = [
    loadedAt === null ? null : `Data from ${duration((now - loadedAt) / 1000)} ago. `,
    nextAt === null ? 'Retrying …' : `Retrying in ${Math.max(0, Math.ceil((nextAt - now) / 1000))} s.`,
  ];
  // The banner tells the cause; one box is enough.
  if (isAbsentDaemon(app, failure)) return <p class="faint">No news from the daemon. {age}</p>;
  return (
    <div class="note bad">
      <p>
        <FailureText failure={failure} />
      </p>
      <p class="faint">{age}</p>
    </div>
  );
}

/** Whether the banner already tells the cause of a failure: the daemon does not answer. */
function isAbsentDaemon(app: App, { problem }: ApiFailure): boolean {
  return problem.code === 'backend_unavailable' && verdictState(app).value?.health.daemon?.answers === false;
}
