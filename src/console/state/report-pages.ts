import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Report, ReportName } from '../api/wire.ts';
import type { App } from './app.ts';
import { PagedSource, type ListPage } from './paged-source.ts';
import { readReport } from './read-report.ts';

type PagedReport = {
  [N in ReportName]: Report<N> extends ListPage<unknown> & { readonly offset: number } ? N : never;
}[ReportName];

/**
 * A report in pages, in a component. Another query is another list; it begins at its first row.
 *
 * @param options `query`: parameters other than `offset` and `limit`; `stamp`: a change of it loads the rows in view again
 */
export function useReportPages<N extends PagedReport>(
  app: App,
  name: N,
  {
    query = {},
    stamp = null,
  }: { readonly query?: Readonly<Record<string, string>>; readonly stamp?: number | null } = {},
): PagedSource<Report<N>> {
  const source = useMemo(
    () =>
      new PagedSource<Report<N>>({
        load: async ({ offset, limit }, signal) =>
          await readReport(app, name, { ...query, offset: String(offset), limit: String(limit) }, signal),
      }),
    [name, JSON.stringify(query)],
  );
  useEffect(() => {
    source.show(0, 0);
    return () => source.stop();
  }, [source]);
  const last = useRef(stamp);
  useEffect(() => {
    if (last.current !== null && last.current !== stamp) source.refresh();
    last.current = stamp;
  }, [stamp]);
  return source;
}
