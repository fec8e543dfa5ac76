import type { ComponentChildren, JSX } from 'preact';
import type { ApiFailure } from '../api/api-client.ts';
import type { FeedState } from '../api/live-feed.ts';
import type { ReportName } from '../api/wire.ts';
import { useApp, type App } from '../state/app.ts';
import { verdictState } from '../state/verdict.ts';
import { reportLine } from '../text/ctl-line.ts';
import { duration } from '../text/format.ts';
import { JsonButton } from './json-button.tsx';
import { FailureText, Loading, Time } from './text.tsx';

/** A titled part of a page that shows one feed. Every panel shows loading, failures and old data in the same way. */
export function Panel<T>({
  title,
  feed,
  tools,
  report,
  query,
  children,
}: {
  readonly title: string;
  readonly feed: FeedState<T>;
  readonly tools?: ComponentChildren;
  readonly report?: ReportName;
  readonly query?: Readonly<Record<string, string>>;
  readonly children: (value: T) => ComponentChildren;
}): JSX.Element {
  const json =
    report === undefined || feed.value === null ? null : (
      <JsonButton title={title} value={feed.value} command={reportLine(report, query)} />
    );
  return (
    <Section
      title={title}
      tools={
        <>
          {tools}
          {json}
        </>
      }
    >
      <PanelBody feed={feed}>{children}</PanelBody>
    </Section>
  );
}

/** A titled part of a page. */
export function Section({
  title,
  tools,
  children,
}: {
  readonly title: string;
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  const id = `panel-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        <div class="tools">{tools}</div>
      </div>
      {children}
    </section>
  );
}

function PanelBody<T>({ feed, children }: { feed: FeedState<T>; children: (value: T) => ComponentChildren }) {
  const app = useApp();
  const { value, failure } = feed;
  if (failure !== null && isAbsentDaemon(app, failure)) return <Folded feed={feed}>{children}</Folded>;
  return (
    <>
      {failure === null ? null : <FailureNote feed={feed} failure={failure} />}
      {value === null && failure === null ? <Loading /> : null}
      {value === null ? null : children(value)}
    </>
  );
}

/** The page shows the cause once, above; the panels that depend on it keep their last data, folded. */
function Folded<T>({
  feed: { value, loadedAt },
  children,
}: {
  readonly feed: FeedState<T>;
  readonly children: (value: T) => ComponentChildren;
}) {
  const app = useApp();
  const since = verdictState(app).value?.health.daemon.since ?? null;
  return (
    <>
      <p class="muted">
        {'The daemon does not answer. Unknown since '}
        <Time at={since} otherwise="its last answer" clock="instead" />
      </p>
      {value === null || loadedAt === null ? null : (
        <details>
          <summary>{`As it was ${duration((app.localNow() - loadedAt) / 1000)} ago`}</summary>
          {children(value)}
        </details>
      )}
    </>
  );
}

function FailureNote({
  feed: { loadedAt, nextAt },
  failure,
}: {
  readonly feed: FeedState<unknown>;
  readonly failure: ApiFailure;
}) {
  const app = useApp();
  const now = app.localNow();
  const age = [
    loadedAt === null ? null : `Data from ${duration((now - loadedAt) / 1000)} ago. `,
    nextAt === null ? 'Retrying …' : `Retrying in ${Math.max(0, Math.ceil((nextAt - now) / 1000))} s.`,
  ];
  return (
    <div class="note bad">
      <p>
        <FailureText failure={failure} />
      </p>
      <p class="muted">{age}</p>
    </div>
  );
}

function isAbsentDaemon(app: App, { problem }: ApiFailure): boolean {
  return problem.code === 'backend_unavailable' && verdictState(app).value?.health.daemon.answers === false;
}
