import { askSite } from './ask-site.ts';
import type { SlipwaySite } from './bytes/slipway-site.ts';
import { hanOf } from './prepared-translations.ts';

const PAGE_UNITS = 1000;

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
  const where = `destination=${encodeURIComponent(destination)}`;
  const tasks = (await askSite(site, `reports/translation.tasks?${where}&limit=1000`)) as {
    items: { task_id: string; status: string }[];
  };
  const task = tasks.items.find(({ status }) => status !== 'superseded');
  if (task === undefined) throw new Error(`${destination} has no task`);
  for (let offset = 0; offset < most;) {
    const limit = Math.min(PAGE_UNITS, most - offset);
    const page = (await askSite(
      site,
      `reports/parse.text_units?${where}&limit=${limit}&offset=${offset}`,
    )) as { total: number; items: { unit_id: string; source_text: string }[] };
    if (page.items.length === 0) break;
    offset += page.items.length;
    await askSite(site, 'control/translation-task-update', {
      task_id: task.task_id,
      ...(offset >= page.total ? { status: 'translated' } : {}),
      translation_results: page.items.map(({ unit_id, source_text }) => ({
        unit_id,
        source_text,
        translated_text: targetOf(source_text, edition),
      })),
    });
  }
}
