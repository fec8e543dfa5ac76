import type { JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { Select } from '../components/controls.tsx';
import { LogLines } from '../components/log-lines.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { Badge, Empty, Facts, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { reportFeed } from '../state/report-feed.ts';
import { verdictState } from '../state/verdict.ts';
import type { View } from '../state/view.ts';
import { duration, words } from '../text/format.ts';

const TONES = { ok: 'good', degraded: 'warn', failing: 'bad' } as const;
const WORST_FIRST = ['failing', 'degraded', 'ok'];
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
const TAILS = ['100', '500', '2000'];

/** The checks of the daemon, its log, and the server itself. */
export const diagnosticsView: View = {
  feeds: (app) => [
    reportFeed(app, 'daemon.doctor'),
    reportFeed(app, 'daemon.logs', {
      key: `daemon.logs:${app.settings.logTail}`,
      query: { tail: app.settings.logTail },
      everyMs: 3000,
    }),
  ],
  Body: () => (
    <>
      <Doctor />
      <Log />
      <Server />
    </>
  ),
};

function Doctor(): JSX.Element {
  const feed = useApp().pool.state<Report<'daemon.doctor'>>('daemon.doctor');
  const overall =
    feed.value === null ? null : <Badge tone={TONES[feed.value.status]}>{words(feed.value.status)}</Badge>;
  return (
    <Panel title="Doctor" feed={feed} tools={overall}>
      {({ checks }) => (
        <Table
          caption="Checks of the daemon, the worst first"
          rows={checks.toSorted(
            (left, right) => WORST_FIRST.indexOf(left.status) - WORST_FIRST.indexOf(right.status),
          )}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Check', cell: ({ id }) => <code>{id}</code> },
            { head: 'Status', cell: ({ status }) => <Badge tone={TONES[status]}>{words(status)}</Badge> },
            { head: 'Found', class: 'wide', cell: ({ message }) => message },
            { head: 'Since', cell: ({ since }) => <Time at={since} /> },
          ]}
        />
      )}
    </Panel>
  );
}

function Server(): JSX.Element {
  return (
    <Panel title="This server" feed={verdictState(useApp())}>
      {({ health }) => (
        <Facts
          rows={[
            [
              'Status',
              <Badge key="status" tone={health.status === 'ok' ? 'good' : 'warn'}>
                {words(health.status)}
              </Badge>,
            ],
            ['Version', health.version],
            ['Running for', duration(health.uptime_seconds)],
            [
              'Last answer of the daemon',
              <Time key="answer" at={health.refresh.last_success_at} otherwise="never" />,
            ],
            ['Consecutive failures', String(health.refresh.consecutive_failures)],
            ['Last failure', health.refresh.last_error_code],
            ['Attestation', health.attestation === null ? 'none' : `version ${health.attestation.version}`],
            ['Issued', <Time key="issued" at={health.attestation?.issued_at} />],
            ['Expires', <Time key="expires" at={health.attestation?.expires_at} />],
          ]}
        />
      )}
    </Panel>
  );
}

function Log(): JSX.Element {
  const app = useApp();
  const { logTail, logLevel, logText } = app.settings;
  const feed = app.pool.state<Report<'daemon.logs'>>(`daemon.logs:${logTail}`);
  return (
    <Panel title="Log of the daemon" feed={feed} tools={<LogTools />}>
      {({ lines }) => {
        const least = LEVELS.indexOf(logLevel);
        const wanted = logText.toLowerCase();
        const shown = lines.filter(
          ({ level, msg }) => LEVELS.indexOf(level) >= least && msg.toLowerCase().includes(wanted),
        );
        if (shown.length === 0) return <Empty>No matching lines.</Empty>;
        return <LogLines label="Lines of the daemon" lines={shown} />;
      }}
    </Panel>
  );
}

function LogTools(): JSX.Element {
  const app = useApp();
  const { logTail, logLevel, logText } = app.settings;
  return (
    <>
      <Select
        label="Lines"
        value={logTail}
        options={TAILS.map((tail) => [tail, tail])}
        onChange={(value) => app.set({ logTail: value })}
      />
      <Select
        label="From level"
        value={logLevel}
        options={LEVELS.map((level) => [level, level])}
        onChange={(value) => app.set({ logLevel: value })}
      />
      <div class="inline">
        <label for="log-text">Containing</label>
        <input
          id="log-text"
          type="search"
          value={logText}
          onInput={(event) => app.set({ logText: event.currentTarget.value })}
        />
      </div>
    </>
  );
}
