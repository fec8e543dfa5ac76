import { askSite } from './ask-site.ts';
import type { SlipwaySite } from './bytes/slipway-site.ts';
import { hanOf } from './prepared-translations.ts';

const PAGE_UNITS = 500;

interface UnitsPage {
  readonly items: readonly {
    readonly unit_id: string;
    readonly source_text: string;
    readonly translation: { readonly task_id: string } | null;
  }[];
}

/** The translation that {@link translateFile} stores for a text. */
export function targetOf(source: string, edition: number): string {
  return `${hanOf(source)}${'了'.repeat(edition)}`;
}

/**
 * Stores a translation of the units of a file.
 *
 * @param edition another one gives other translations
 * @param most units at which it ends
 */
export async function translateFile(
  site: SlipwaySite,
  destination: string,
  edition: number,
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  for (let offset = 0; offset < most;) {
    const limit = Math.min(PAGE_UNITS, most - offset);
    const query = new URLSearchParams({ destination, limit: `${limit}`, offset: `${offset}` });
    const { items } = (await askSite(site, `reports/parse.text_units?${query.toString()}`)) as UnitsPage;
    if (items.length === 0) break;
    offset += items.length;
    for (const [taskId, units] of Map.groupBy(items, ({ translation }) => translation?.task_id)) {
      await askSite(site, 'control/translation-task-update', {
        task_id: taskId,
        translation_results: units.map(({ unit_id, source_text }) => ({
          unit_id,
          source_text,
          translated_text: targetOf(source_text, edition),
        })),
      });
    }
  }
}
