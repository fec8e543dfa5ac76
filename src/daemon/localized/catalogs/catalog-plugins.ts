import { createFileTest } from '../../../platform/config/glob-filter.ts';
import { BUNDLE_PLUGINS } from '../../formats/catalogs/bundle-plugins.ts';
import type { CatalogPlugin } from '../../formats/catalogs/catalog-plugin.ts';
import { GAME_LIST_PLUGINS } from '../../formats/catalogs/game-list-plugins.ts';
import { createListPlugin } from '../../formats/catalogs/list-plugin.ts';
import { MEMORY_PACK_PLUGINS } from '../../formats/catalogs/memory-pack-plugins.ts';
import type { CatalogsConfiguration } from './catalogs-config.ts';

/** The plug-ins that know catalogs: those of the configured lists, and the built-in ones. */
export function catalogPlugins({ lists }: CatalogsConfiguration): readonly CatalogPlugin[] {
  const configured = lists.map(({ files, path, size, checksums, format, encoding, folder }, index) =>
    createListPlugin({
      name: `localized.catalogs.lists[${index}]`,
      matches: matcherOf(files),
      format,
      // A byte order mark decides where UTF-8 is expected.
      ...(encoding === 'utf-8' ? {} : { encoding }),
      ...(folder === undefined ? {} : { folderOf: () => folder }),
      fields: { path, size, checksums },
    }),
  );
  return [...configured, ...BUNDLE_PLUGINS, ...MEMORY_PACK_PLUGINS, ...GAME_LIST_PLUGINS];
}

/** Makes the test whether a file is not a catalog. */
export function ignoreTest({ ignore }: CatalogsConfiguration): (path: string) => boolean {
  return ignore.length === 0 ? () => false : matcherOf(ignore);
}

function matcherOf(include: readonly string[]): (path: string) => boolean {
  return createFileTest({ include, exclude: [] });
}
