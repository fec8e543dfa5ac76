import type { JSX } from 'preact';
import type { Report } from '../../api/wire.ts';
import { Panel } from '../../components/panel.tsx';
import { Time } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { count, words } from '../../text/format.ts';
import { BlockerList } from '../blocker-list.tsx';
import { UnitLink } from '../unit-link.tsx';

type Work = Report<'translation.handoff'>['releases'][number];

/** Units that are named. */
const SHOWN = 20;

/** Everything that prevents a publication, everything that it leaves out, and the units to go to. */
export function BlockersPanel(): JSX.Element {
  const { pool } = useApp();
  const feed = pool.state<Report<'translation.status'>>('translation.status');
  const handoff = pool.state<Report<'translation.handoff'>>('translation.handoff');
  const work = handoff.value?.releases[0] ?? null;
  return (
    <Panel title="Blockers" feed={feed}>
      {({ publish_blockers: blockers }) => (
        <>
          <BlockerList blockers={blockers} />
          {work === null ? null : <UnitLists work={work} />}
        </>
      )}
    </Panel>
  );
}

function UnitLists({ work }: { readonly work: Work }): JSX.Element {
  return (
    <>
      {work.blocked.length === 0 ? null : (
        <>
          <h3>{`Blocked units (${count(work.blocked_total)})`}</h3>
          <ul class="rows">
            {work.blocked.slice(0, SHOWN).map((unit) => (
              <li key={unit.unit_id}>
                <UnitLink unit={unit} /> {unit.codes.map((code) => words(code)).join(', ')}
              </li>
            ))}
            <More total={work.blocked_total} href="#/translate?unit_state=blocked" />
          </ul>
        </>
      )}
      {work.held.length === 0 ? null : (
        <>
          <h3>{`Units on hold (${count(work.held_total)})`}</h3>
          <ul class="rows">
            {work.held.slice(0, SHOWN).map((unit) => (
              <li key={unit.unit_id}>
                <UnitLink unit={unit} mode="review" /> <span>{unit.reason ?? 'without a reason'}</span>{' '}
                <span class="muted">{unit.reviewer}</span> <Time at={unit.since} />
              </li>
            ))}
            <More total={work.held_total} href="#/review" />
          </ul>
        </>
      )}
    </>
  );
}

/** Says how many units of a list are not named, and where they are. */
function More({ total, href }: { readonly total: number; readonly href: string }): JSX.Element | null {
  if (total <= SHOWN) return null;
  return (
    <li class="muted">
      {`and ${count(total - SHOWN)} more. `}
      <a href={href}>Show them</a>
    </li>
  );
}
