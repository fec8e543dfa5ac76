import type { Report } from '../api/wire.ts';
import { ActionButton, Select } from '../components/controls.tsx';
import { LogLines } from '../components/log-lines.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { Badge, Empty, Facts, Time } from '../components/text.tsx';
import { useTypedQuery } from '../components/use-typed-query.ts';
import { useApp, type App } from '../state/app.ts';
import { reportFeed, reportState } from '../state/read-report.ts';
import { verdictState } from '../state/verdict.ts';
import type { View } from '../state/view.ts';
import { counted, duration, withReadersTimes, words } from '../text/format.ts';
import { divideChecks, type DoctorCheck } from './doctor-checks.ts';

const TONES = { ok: 'ok', degraded: 'warn', failing: 'bad' } as const;
const WORST_FIRST = ['failing', 'degraded'];
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
const LONG_TAIL = '2000';
const TAILS = ['100', '500', LONG_TAIL];

export const diagnosticsView: View = {
  feeds: (app) => [
    reportFeed(app, 'daemon.doctor'),
    reportFeed(app, 'daemon.logs', {
      key: `daemon.logs:${tailOf(app)}`,
      query: { tail: tailOf(app) },
      everyMs: tailOf(app) === LONG_TAIL ? 15_000 : 3000,
    }),
  ],
  Body: () => (
    <>
      <Doctor />
      <VerdictChecks />
      <Log />
      <Server />
    </>
  ),
};

function Doctor() {
  const feed = reportState(useApp(), 'daemon.doctor');
  const overall =
    feed.value === null ? null : <Badge tone={TONES[feed.value.status]}>{words(feed.value.status)}</Badge>;
  return (
    <Panel title="Doctor" feed={feed} tools={overall} report="daemon.doctor">
      {({ checks }) => {
        const { troubled, passed, unjudged } = divideChecks(checks);
        return (
          <>
            {troubled.length === 0 ? null : (
              <CheckTable
                caption="Checks that found something, the worst first"
                checks={troubled.toSorted(
                  (left, right) => WORST_FIRST.indexOf(left.status) - WORST_FIRST.indexOf(right.status),
                )}
              />
            )}
            <FoldedChecks caption={counted(passed.length, 'check is ok', 'checks are ok')} checks={passed} />
            <FoldedChecks
              caption={counted(unjudged.length, 'check is not evaluated', 'checks are not evaluated')}
              checks={unjudged}
            />
          </>
        );
      }}
    </Panel>
  );
}

function FoldedChecks({ caption, checks }: { caption: string; checks: readonly DoctorCheck[] }) {
  if (checks.length === 0) return null;
  return (
    <details>
      <summary>
        {caption}
        <span class="muted">{`: ${checks.map(({ id }) => id).join(', ')}`}</span>
      </summary>
      <CheckTable caption={caption} checks={checks} />
    </details>
  );
}

function CheckTable({ caption, checks }: { caption: string; checks: readonly DoctorCheck[] }) {
  return (
    <Table
      caption={caption}
      rows={checks}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Check', class: 'whole', cell: ({ id }) => <code>{id}</code> },
        { head: 'Status', narrow: 'aside', cell: (check) => <CheckStatus check={check} /> },
        {
          head: 'Found, and what to do',
          class: 'wide widest',
          cell: (check) => <Finding check={check} />,
        },
        { head: 'Since', class: 'whole', cell: ({ since }) => <Time at={since} /> },
      ]}
    />
  );
}

function CheckStatus({ check: { status, evaluated } }: { check: DoctorCheck }) {
  if (evaluated) return <Badge tone={TONES[status]}>{words(status)}</Badge>;
  return (
    <span>
      <span aria-hidden="true">–</span>
      <span class="unseen">not evaluated</span>
    </span>
  );
}

function Finding({ check: { id, status, message } }: { check: DoctorCheck }) {
  const app = useApp();
  const actions = status === 'ok' ? [] : actionsIn(message, app.contract.actions);
  return (
    <>
      {withReadersTimes(message, app.now())}
      {actions.length === 0 ? null : (
        <div class="buttons">
          {actions.map((action) => (
            <ActionButton request={{ action }} about={`for ${id}`} key={action}>
              {`${words(action)} …`}
            </ActionButton>
          ))}
        </div>
      )}
    </>
  );
}

const CHECK_SIGNS = { ok: '✓', bad: '✕', idle: '–' } as const;

function VerdictChecks() {
  return (
    <Panel title="Checks of the verdict" feed={verdictState(useApp())}>
      {({ readiness }) => (
        <ul class="checks">
          {(readiness.checks ?? []).map(({ name, ok, message, reason }) => {
            const tone = ok === null ? 'idle' : ok ? 'ok' : 'bad';
            return (
              <li class={tone} key={name}>
                <span class="sign" aria-hidden="true">
                  {CHECK_SIGNS[tone]}
                </span>
                {words(name)}
                {ok === false ? (
                  `: ${message ?? 'failed'} (${reason ?? 'no reason given'})`
                ) : (
                  <span class="unseen">{ok ? ': ok' : ': not evaluated'}</span>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

function Server() {
  return (
    <Panel title="This server" feed={verdictState(useApp())}>
      {({ health }) => (
        <Facts
          rows={[
            [
              'Status',
              <Badge key="status" tone={health.status === 'ok' ? 'ok' : 'warn'}>
                {words(health.status)}
              </Badge>,
            ],
            ['Version', health.version],
            ['Running for', duration(health.uptime_seconds)],
            [
              'Last answer of the daemon',
              <Time clock="beside" key="answer" at={health.refresh.last_success_at} otherwise="never" />,
            ],
            ['Consecutive failures', String(health.refresh.consecutive_failures)],
            ['Last failure', health.refresh.last_error_code],
            ['Attestation', health.attestation === null ? 'none' : `version ${health.attestation.version}`],
            ['Issued', <Time clock="beside" key="issued" at={health.attestation?.issued_at} />],
            ['Expires', <Time clock="beside" key="expires" at={health.attestation?.expires_at} />],
          ]}
        />
      )}
    </Panel>
  );
}

function Log() {
  const app = useApp();
  const { tail, level: leastLevel, text: wantedText } = choicesOf(app);
  const feed = app.pool.state<Report<'daemon.logs'>>(`daemon.logs:${tail}`);
  return (
    <Panel title="Log of the daemon" feed={feed} tools={<LogTools />} report="daemon.logs" query={{ tail }}>
      {({ lines }) => {
        const least = LEVELS.indexOf(leastLevel);
        const wanted = wantedText.toLowerCase();
        const shown = lines.filter(
          ({ level, msg }) => LEVELS.indexOf(level) >= least && msg.toLowerCase().includes(wanted),
        );
        if (shown.length === 0) return <Empty>No matching lines.</Empty>;
        return <LogLines label="Lines of the daemon" lines={shown} />;
      }}
    </Panel>
  );
}

function LogTools() {
  const app = useApp();
  const { tail, level: leastLevel } = choicesOf(app);
  const { typed, onInput, onChange } = useTypedQuery('text');
  return (
    <>
      <Select
        label="Lines"
        value={tail}
        options={TAILS.map((tail) => [tail, tail])}
        onChange={(value) => app.setQuery({ tail: value })}
      />
      <Select
        label="From level"
        value={leastLevel}
        options={LEVELS.map((level) => [level, level])}
        onChange={(value) => app.setQuery({ level: value })}
      />
      <div class="inline">
        <label for="log-text">Containing</label>
        <input
          id="log-text"
          type="search"
          value={typed}
          onInput={(event) => onInput(event.currentTarget.value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      </div>
    </>
  );
}

function choicesOf(app: App): { readonly tail: string; readonly level: string; readonly text: string } {
  const level = app.query('level');
  return { tail: tailOf(app), level: LEVELS.includes(level) ? level : 'info', text: app.query('text') };
}

function tailOf(app: App): string {
  const tail = app.query('tail');
  return TAILS.includes(tail) ? tail : '500';
}

/**
 * The actions that an advice of the daemon names, such as `release-cleanup` in "run release-cleanup or enlarge the
 * volume"; pure.
 *
 * @param actions by their names
 */
export function actionsIn(advice: string, actions: Readonly<Record<string, unknown>>): readonly string[] {
  const named = [...advice.matchAll(/\brun ([a-z]+(?:-[a-z]+)*)/gi)].map(([, name = '']) => name);
  return [...new Set(named)].filter((name) => Object.hasOwn(actions, name));
}
