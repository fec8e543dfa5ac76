import type { JSX } from 'preact';
import type { Report } from '../../api/wire.ts';
import { Panel } from '../../components/panel.tsx';
import { Facts } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { count, percent } from '../../text/format.ts';
import { CoverageMap } from './coverage-map.tsx';
import { blockedText } from '../blocker-list.tsx';

/** How far the translation of the official release is. */
export function TextCoverage(): JSX.Element {
  const feed = useApp().pool.state<Report<'translation.status'>>('translation.status');
  return (
    <Panel title="Coverage" feed={feed}>
      {({
        coverage,
        coverage: { release_id: release, units, accepted, translated, skipped, excluded, by_state: states },
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
                  ['Blocked', blockedText(coverage)],
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
