import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { createFileTest, type GlobLists } from '../../platform/config/glob-filter.ts';

type Releases = ReportBodyOf<'translation.handoff'>['releases'];
type ListedUnit = Pick<Releases[number]['blocked'][number], 'destination' | 'left_out'>;

/**
 * Marks the listed units whose files are in no publication.
 *
 * @param files which files a localized release has
 * @returns the same releases, in which these units have `left_out`
 */
export function markExcluded(releases: Releases, files: GlobLists): Releases {
  const isPublished = createFileTest(files);
  const mark = <Unit extends ListedUnit>(unit: Unit): Unit =>
    isPublished(unit.destination) ? unit : { ...unit, left_out: 'excluded_file' };
  return releases.map((release) => ({
    ...release,
    blocked: release.blocked.map((unit) => mark(unit)),
    held: release.held.map((unit) => mark(unit)),
  }));
}
