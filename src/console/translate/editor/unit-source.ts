import type { Report } from '../../api/wire.ts';
import type { PagedSource } from '../../state/paged-source.ts';

/** The units of a task, page by page. */
export type UnitSource = PagedSource<Report<'parse.text_units'>>;
