import type { ObjectLayout } from './memory-pack-layout.ts';

const TABLE_BUNDLE: ObjectLayout = {
  name: 'TableBundle',
  members: [
    { name: 'Name', kind: 'string' },
    { name: 'Size', kind: 'int64' },
    { name: 'Crc', kind: 'int64' },
    { name: 'isInbuild', kind: 'boolean' },
    { name: 'isChanged', kind: 'boolean' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'IsSplitDownload', kind: 'boolean' },
    { name: 'Includes', kind: 'strings' },
  ],
};

const TABLE_PATCH_PACK: ObjectLayout = {
  name: 'TablePatchPack',
  members: [
    { name: 'Name', kind: 'string' },
    { name: 'Size', kind: 'int64' },
    { name: 'Crc', kind: 'int64' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'BundleFiles', kind: { listOf: TABLE_BUNDLE } },
  ],
};

/** `TableCatalog.bytes`: table archives, and packs of them. */
export const TABLE_CATALOG: ObjectLayout = {
  name: 'TableCatalog',
  members: [
    { name: 'Table', kind: { mapOf: TABLE_BUNDLE } },
    { name: 'TablePack', kind: { mapOf: TABLE_PATCH_PACK } },
  ],
};

const MEDIA: ObjectLayout = {
  name: 'Media',
  members: [
    { name: 'Path', kind: 'string' },
    { name: 'FileName', kind: 'string' },
    { name: 'Bytes', kind: 'int64' },
    { name: 'Crc', kind: 'int64' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'IsSplitDownload', kind: 'boolean' },
    { name: 'MediaType', kind: 'int32' },
  ],
};

/** `MediaCatalog.bytes`: audio, video, images. */
export const MEDIA_CATALOG: ObjectLayout = {
  name: 'MediaCatalog',
  members: [{ name: 'Table', kind: { mapOf: MEDIA } }],
};

const BUNDLE_FILE: ObjectLayout = {
  name: 'BundleFile',
  members: [
    { name: 'Name', kind: 'string' },
    { name: 'Size', kind: 'int64' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'Crc', kind: 'int64' },
    { name: 'IsSplitDownload', kind: 'boolean' },
    { name: 'FileHash', kind: 'int64' },
    { name: 'Signature', kind: 'string' },
  ],
};

const BUNDLE_PATCH_PACK: ObjectLayout = {
  name: 'BundlePatchPack',
  members: [
    { name: 'PackName', kind: 'string' },
    { name: 'PackSize', kind: 'int64' },
    { name: 'Crc', kind: 'int64' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'IsSplitDownload', kind: 'boolean' },
    { name: 'BundleFiles', kind: { listOf: BUNDLE_FILE } },
  ],
};

/** `BundlePackingInfo.bytes`: packs of asset bundles. */
export const BUNDLE_PACKING_INFO: ObjectLayout = {
  name: 'BundlePackingInfo',
  members: [
    { name: 'Milestone', kind: 'string' },
    { name: 'PatchVersion', kind: 'int32' },
    { name: 'FullPatchPacks', kind: { listOf: BUNDLE_PATCH_PACK } },
    { name: 'UpdatePacks', kind: { listOf: BUNDLE_PATCH_PACK } },
  ],
};
