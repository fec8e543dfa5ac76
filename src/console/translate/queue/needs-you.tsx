import type { ComponentChildren, JSX } from 'preact';
import { remarkOf } from '../../../domain/translation/task-remark.ts';
import type { Report } from '../../api/wire.ts';
import { Panel } from '../../components/panel.tsx';
import { Badge, Empty, Time, type Tone } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { editorAddress } from '../../text/addresses.ts';
import { count, counted, words } from '../../text/format.ts';
import { UnitLink } from '../unit-link.tsx';
import { keptPlace } from './kept-place.ts';

/** Begins the keys of the feeds with the tasks that someone has said something about. */
export const REMARKS = { has_reason: 'remarks:reason', has_failure_reason: 'remarks:failure' } as const;
/** Units and tasks that each row names. */
const NAMED = 3;

/** What waits for a person, the most urgent first. */
export function NeedsYou(): JSX.Element {
  const app = useApp();
  const feed = app.pool.state<Report<'translation.handoff'>>('translation.handoff');
  const status = app.pool.state<Report<'translation.status'>>('translation.status').value;
  const blocking = status?.publish_blockers.find(({ code }) => code === 'qa_blocked')?.count ?? 0;
  const stale = status?.coverage.by_state['stale'] ?? 0;
  return (
    <Panel title="Needs you" feed={feed}>
      {({ releases: [work] }) => {
        const rows = [
          <Continue key="continue" />,
          <Waiting
            key="returned"
            tone="warn"
            units={work?.returned_total ?? 0}
            text={['unit came back from review', 'units came back from review']}
          >
            {work?.returned?.slice(0, NAMED).map((unit) => (
              <Returned unit={unit} key={unit.unit_id} />
            ))}
          </Waiting>,
          <Waiting
            key="blocked"
            tone="bad"
            units={work?.blocked_total ?? 0}
            text={['unit is blocked', 'units are blocked']}
            beside={blockedWords(work?.blocked_total ?? 0, blocking)}
            href="#/translate?unit_state=blocked"
          >
            {work?.blocked.slice(0, NAMED).map((unit) => (
              <li key={unit.unit_id}>
                <UnitLink unit={unit} /> {unit.codes.map(words).join(', ')}
              </li>
            ))}
          </Waiting>,
          <Waiting
            key="stale"
            tone="warn"
            units={stale}
            text={['unit has a changed source', 'units have a changed source']}
            href="#/translate?unit_state=stale"
          />,
          <Waiting
            key="held"
            tone="info"
            units={work?.held_total ?? 0}
            text={['unit is on hold', 'units are on hold']}
            href="#/review"
          />,
          <Remarks key="remarks" filter="has_reason" text={['task has a remark', 'tasks have a remark']} />,
          <Remarks
            key="failures"
            filter="has_failure_reason"
            text={['task was given up, with a reason', 'tasks were given up, with a reason']}
          />,
        ];
        const isQuiet =
          work === undefined ||
          work.blocked_total + work.held_total + (work.returned_total ?? 0) + stale === 0;
        return (
          <>
            <ul class="rows needs-you">{rows}</ul>
            {isQuiet ? (
              <Empty>Nothing was returned, blocked, put on hold or changed. Choose a folder below.</Empty>
            ) : null}
          </>
        );
      }}
    </Panel>
  );
}

function blockedWords(all: number, blocking: number): string {
  if (blocking === 0) return `${all === 1 ? 'It does not prevent' : 'None of them prevents'} a publication.`;
  return `${all === 1 ? 'It prevents' : `${count(blocking)} of them ${blocking === 1 ? 'prevents' : 'prevent'}`} a publication.`;
}

function Waiting({
  tone,
  units,
  text: [one, many],
  beside,
  href,
  children,
}: {
  readonly tone: Tone;
  readonly units: number;
  readonly text: readonly [one: string, many: string];
  readonly beside?: string;
  readonly href?: string;
  readonly children?: ComponentChildren;
}) {
  if (units === 0) return null;
  return (
    <li>
      <Badge tone={tone}>{counted(units, one, many)}</Badge> <span class="muted">{beside}</span>{' '}
      {href === undefined ? null : <a href={href}>{units === 1 ? 'Show it' : 'Show them'}</a>}
      {children === undefined ? null : <ul>{children}</ul>}
    </li>
  );
}

type Work = Report<'translation.handoff'>['releases'][number];

function Returned({ unit }: { unit: NonNullable<Work['returned']>[number] }) {
  return (
    <li>
      <UnitLink unit={unit} /> {[unit.reviewer, unit.reason].filter(Boolean).join(': ')}{' '}
      <Time at={unit.since} />
    </li>
  );
}

function Remarks({ filter, text }: { filter: keyof typeof REMARKS; text: readonly [string, string] }) {
  const { value } = useApp().pool.state<Report<'translation.tasks'>>(REMARKS[filter]);
  const tasks = value === null ? 0 : value.total - (value.counts['superseded'] ?? 0);
  return (
    <Waiting tone="info" units={tasks} text={text} href={`#/translate?${filter}=true`}>
      {value?.items.slice(0, Math.min(NAMED, tasks)).map((task) => (
        <li key={task.task_id}>
          <a href={editorAddress(task.task_id)}>{task.destination}</a>{' '}
          <span class="muted">
            {filter === 'has_reason' ? (remarkOf(task.reason) ?? task.reason) : task.failure_reason}
          </span>
        </li>
      ))}
    </Waiting>
  );
}

function Continue() {
  const place = keptPlace(() => localStorage, useApp().index()?.token.id ?? '');
  if (place === null) return null;
  const { taskId, unitId, destination, text } = place;
  return (
    <li>
      <a href={editorAddress(taskId, { unit: unitId })}>Continue where you were</a>{' '}
      <bdi class="muted">{`${destination}: ${text}`}</bdi>
    </li>
  );
}
