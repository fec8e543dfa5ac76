import type { JSX } from 'preact';
import type { Report } from '../../api/wire.ts';
import { Panel } from '../../components/panel.tsx';
import { Badge, Facts, Time, type Fact, type Tone } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { counted, count } from '../../text/format.ts';
import { blockedText } from '../blockers-panel.tsx';
import { CoverageBar } from './coverage-bar.tsx';

type Status = Report<'translation.status'>;

const AUTOMATION: Readonly<Record<Status['automation']['state'], readonly [Tone, string]>> = {
  off: ['idle', 'Off'],
  stopped: ['warn', 'Stopped'],
  waiting: ['info', 'Waits'],
  due: ['info', 'Due'],
  followed: ['ok', 'Follows'],
};

/** The localized release that readers have now, its base, and the texts there are for the next one. */
export function StatePanel(): JSX.Element {
  const feed = useApp().pool.state<Status>('translation.status');
  return (
    <Panel title="Base and coverage" feed={feed}>
      {(status) => (
        <>
          <Facts
            rows={[...releaseFacts(status), ['Automatic publishing', <Automation status={status} key="a" />]]}
          />
          <CoverageBar units={status.coverage.by_state} />
          <p>
            {`${counted(status.coverage.units, 'unit')}: ${count(status.coverage.translated)} translated, ${count(status.coverage.accepted)} of them proofread. Blocked: ${blockedText(status.coverage)}.`}
            {status.coverage.publishable === null
              ? null
              : ` As configured, a publication would localize ${count(status.coverage.publishable)}.`}
          </p>
        </>
      )}
    </Panel>
  );
}

function releaseFacts({ current, coverage: { release_id: base }, history }: Status): readonly Fact[] {
  const [last] = history;
  const published =
    current === null ? (
      <span key="none">
        {last?.rolled_back ? <Badge tone="warn">Withdrawn</Badge> : null}
        {last === undefined
          ? 'Nothing is published yet.'
          : ' Readers have the official texts until the next publication.'}
      </span>
    ) : (
      <span key="current">
        <code>{current.localized_release_id}</code>{' '}
        {current.stale ? <Badge tone="warn">Base has changed</Badge> : null}
        {current.integrity === 'damaged' ? <Badge tone="bad">Damaged</Badge> : null}{' '}
        <Time at={current.published_at} />
      </span>
    );
  return [
    ['Localized', published],
    ['Next base', base === null ? 'There is no official release yet.' : <code key="base">{base}</code>],
  ];
}

function Automation({ status: { automation } }: { status: Status }) {
  const [tone, word] = AUTOMATION[automation.state];
  return (
    <>
      <Badge tone={tone}>{word}</Badge>{' '}
      <span>
        {automation.state === 'stopped'
          ? 'A rollback has stopped it. The next publication from this page resumes it.'
          : automation.message}
      </span>
    </>
  );
}
