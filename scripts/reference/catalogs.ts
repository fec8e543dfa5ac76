import { CHECKSUM_ALGORITHMS } from '../../src/formats/catalogs/file-figures.ts';
import {
  catalogListSchema,
  catalogsConfigurationSchema,
} from '../../src/localization/localized/localized-config.ts';
import { SIDECAR_EXTENSIONS } from '../../src/localization/localized/catalogs/sidecars.ts';
import { keyTable } from './key-table.ts';
import { codes, table } from './markdown.ts';

/** docs/reference/catalogs.md. @throws Error that names every key without a description */
export function renderCatalogs(): string {
  return `# Catalogs of localized releases

Generated from the schema by \`make docs\`; do not edit.

A catalog is a file of a release that states the sizes and checksums of other files. Game clients check what they download
against it. A localized release has other bytes in some files, so its catalogs get the figures of the new files; everything
else in them stays. A catalog can list another catalog, and lie in a zip archive, also in one with
other bytes before it, which is then a new file itself.

## Built-in

${table(
  ['File', 'Rewritten'],
  [
    [
      '`*.json` and `*.bin` of Addressables',
      '`m_BundleSize`, `m_Crc`, and `m_Hash`: a hash of the new content, because clients cache a bundle by its name and hash',
    ],
    ['`X.manifest` of Unity beside the bundle `X`', '`CRC` and `AssetFileHash`'],
    ['`TableCatalog.bytes` and `.json`', '`Size`, `Crc`'],
    ['`MediaCatalog.bytes` and `.json`', '`Bytes`, `Crc`'],
    [
      '`BundlePackingInfo.bytes` and `.json`',
      '`PackSize`, `Crc`; of the bundles in packs `Size`, `Crc`, `FileHash`, `Signature`',
    ],
    ['`bundleDownloadInfo.json`', '`Size`, `Crc`'],
    [
      `A file with one checksum beside a file of the same name, with or without its extension: ${codes(SIDECAR_EXTENSIONS.map((extension) => `.${extension}`))}`,
      'the checksum; also that of the file in an archive, where the file stands beside the archive',
    ],
  ],
)}

Catalogs of Addressables name a bundle without its folder. Where several files of the release have this name, the catalog means the
nearest one, which has the most folders in common with it and whose folders the catalog names, and among those the one whose figures
it states. So the catalogs of two platforms never mean each other's bundles. An address can have other folders than the release:
where the nearest file is not patched and the catalog states other figures than it has, it means the patched file whose figures it states.

A compressed catalog in a bundle of at most 128 MiB whose name begins with \`catalog\` is rewritten in the bundle. Its path is that of the bundle with the id of
the text asset: \`catalog.bundle!/-7.textasset\`.

## Checksums

The algorithm of a checksum is found by trying: it is the one that gives the stated value for the official file. Tried are
${codes(CHECKSUM_ALGORITHMS)}, as hexadecimal digits in either case or as a decimal number; for a file with one checksum of a file of at most
64 MiB also SHA-512, SpookyHash, XXH3 and BLAKE3, and the hash of the text as UTF-16. An empty text and 0 stand for no checksum. A value that no
algorithm gives is never guessed.

## \`catalog_not_rewritten\`

A localized release is not published when

- a catalog states a figure of a patched file that no known algorithm gives;
- a file states the name of a patched file together with its official size or checksum, and nothing rewrote it. Searched are JSON, CSV,
  TSV, text and files of unknown formats of at most 128 MiB, in archives those with the usual names of catalogs. A size counts within 4 KiB of
  the name and from 100 on; a checksum counts anywhere. A catalog of Addressables is read instead, so nothing is searched in it for the
  figures of bundles;
- a bundle has the name of a catalog, and it or one of its text assets cannot be read, while another bundle is patched;
- \`localized.catalogs.ignore\` names a catalog of Addressables, or another file with the CRC of a bundle's content, that is about a patched
  bundle: clients would refuse this bundle;
- catalogs state checksums of each other in a circle.

The message names the catalog and the figure. Describe the catalog in \`localized.catalogs.lists\`, or name it in
\`localized.catalogs.ignore\` if the game does not check files by it. A described list is read before the built-in ones.

## \`localized.catalogs\`

${keyTable(catalogsConfigurationSchema)}

## \`localized.catalogs.lists[]\`

A list is JSON with an object for each file, at any depth, or a table with a row for each.

${keyTable(catalogListSchema)}

\`\`\`yaml
localized:
  catalogs:
    lists:
      - files: ['**/filelist.csv']
        format: csv
        folder: Android/
        path: FileName
        size: [FileSize]
        checksums: [Md5]
    ignore: ['Docs/**']
\`\`\`
`;
}
