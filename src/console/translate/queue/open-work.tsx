import type { JSX } from 'preact';
import type { Report } from '../../api/wire.ts';
import { Panel } from '../../components/panel.tsx';
import { Facts, Time } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { counted, count, percent, words } from '../../text/format.ts';
import { CoverageMap } from './coverage-map.tsx';
import { BlockerList } from '../blocker-list.tsx';
import { UnitLink } from '../unit-link.tsx';

/** Rows of a list; the filters of the queue find the others. */
const SHOWN = 8;

/** How far the translation of the official release is. */
export function TextCoverage(): JSX.Element {
  const feed = useApp().pool.state<Report<'translation.status'>>('translation.status');
  return (
    <Panel title="Coverage" feed={feed}>
      {({
        coverage: {
          release_id: release,
          units,
          accepted,
          translated,
          blocked,
          skipped,
          excluded,
          by_state: states,
        },
      }) => {
        if (release === null || units === 0) {
          return <p class="empty">The translation tasks of the official release are not built yet.</p>;
        }
        const part = (some: number): string => `${percent(some / units)} (${count(some)} of ${count(units)})`;
        return (
          <>
            <div class="columns">
              <Facts
                rows={[
                  ['Release', <code key="release">{release}</code>],
                  ['Translated', part(translated)],
                  ['Proofread', part(accepted)],
                ]}
              />
              <Facts
                rows={[
                  ['Blocked', count(blocked)],
                  ['Stale', count(states['stale'] ?? 0)],
                  ['Untranslated', count(states['untranslated'] ?? 0)],
                ]}
              />
            </div>
            <CoverageMap release={release} skipped={skipped} excluded={excluded ?? 0} />
          </>
        );
      }}
    </Panel>
  );
}

/** Units that nobody can finish as they are, and the blockers of a publication. */
export function OpenWork(): JSX.Element {
  const { pool } = useApp();
  const handoff = pool.state<Report<'translation.handoff'>>('translation.handoff');
  const status = pool.state<Report<'translation.status'>>('translation.status');
  return (
    <div class="columns">
      <Panel title="Blocked units" feed={handoff}>
        {({ releases: [newest] }) => {
          if (newest === undefined || newest.blocked.length === 0)
            return <p class="empty">No unit is blocked.</p>;
          return (
            <>
              <p>{`${counted(newest.blocked_total, 'unit has', 'units have')} findings that block them.`}</p>
              <ul class="rows">
                {newest.blocked.slice(0, SHOWN).map((unit) => (
                  <li key={`${unit.task_id}/${unit.unit_id}`}>
                    <UnitLink unit={unit} /> <span>{unit.codes.map((code) => words(code)).join(', ')}</span>
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Panel>
      <Panel title="Units on hold" feed={handoff}>
        {({ releases: [newest] }) => {
          if (newest === undefined || newest.held.length === 0)
            return <p class="empty">No unit is on hold.</p>;
          return (
            <>
              <p>{`${counted(newest.held_total, 'unit waits', 'units wait')} for a review.`}</p>
              <ul class="rows">
                {newest.held.slice(0, SHOWN).map((unit) => (
                  <li key={`${unit.task_id}/${unit.unit_id}`}>
                    <UnitLink unit={unit} mode="review" />{' '}
                    <span>{[unit.reviewer, unit.reason].filter((each) => each !== null).join(': ')}</span>{' '}
                    <Time at={unit.since} />
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Panel>
      <Panel title="Blockers" feed={status}>
        {({ publish_blockers: blockers }) => <BlockerList blockers={blockers} />}
      </Panel>
    </div>
  );
}
