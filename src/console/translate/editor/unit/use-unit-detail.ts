import { useEffect, useMemo } from 'preact/hooks';
import { createFeed, EMPTY_FEED, type FeedState } from '../../../api/live-feed.ts';
import type { Report } from '../../../api/wire.ts';
import type { App } from '../../../state/app.ts';
import { unitQuery, type Unit, type UnitHistory } from '../unit.ts';

/** How often the unit that is shown is read, milliseconds: others also work on it. */
const EVERY_MS = 8000;
/** How long a unit must be shown before it is read, milliseconds: a person may only pass it. */
const REST_MS = 120;

export interface UnitDetail {
  readonly unit: Unit;
  readonly history: UnitHistory | null;
  readonly sourceLanguage: string | null;
  readonly targetLanguage: string | null;
}

/** Reads one unit repeatedly while it is shown. */
export function useUnitDetail(
  app: App,
  unit: Unit | null,
  index: number,
): { readonly state: FeedState<UnitDetail | null>; readonly refresh: () => void } {
  const id = unit?.unit_id ?? null;
  const feed = useMemo(() => {
    if (unit === null) return null;
    const query = unitQuery(unit, index);
    return createFeed<UnitDetail | null>({
      load: async (signal) => {
        const report = (await app.api.read('/admin/parse/text-units', {
          query,
          signal,
        })) as Report<'parse.text_units'>;
        const found = report.items.find((each) => each.unit_id === id);
        if (found === undefined) return null;
        const { source_language: sourceLanguage, target_language: targetLanguage } = report.translations;
        return { unit: found, history: report.history, sourceLanguage, targetLanguage };
      },
      pauseAfter: () => EVERY_MS,
      onChange: () => undefined,
    });
  }, [app, id]);
  useEffect(() => {
    const timer = setTimeout(() => feed?.start(), REST_MS);
    return () => {
      clearTimeout(timer);
      feed?.stop();
    };
  }, [feed]);
  return { state: feed?.state.value ?? EMPTY_FEED, refresh: () => feed?.refresh() };
}
