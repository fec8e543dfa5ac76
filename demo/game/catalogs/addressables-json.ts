/** A bundle in a catalog of Addressables. */
export interface CatalogBundle {
  readonly internalId: string;
  readonly bundleName: string;
  readonly hash: string;
  readonly crc: number;
  readonly size: number;
}

/** The class of the options of a bundle. */
export const OPTIONS_TYPE = {
  assembly: 'Unity.ResourceManager, Version=0.0.0.0, Culture=neutral, PublicKeyToken=null',
  class: 'UnityEngine.ResourceManagement.ResourceProviders.AssetBundleRequestOptions',
};

/** The options of a bundle, as `JsonUtility` writes them. */
function optionsJson({ hash, crc, size, bundleName }: CatalogBundle): string {
  const head = { m_Hash: hash, m_Crc: crc, m_Timeout: 0, m_ChunkedTransfer: false, m_RedirectLimit: -1 };
  return JSON.stringify({ ...head, m_RetryCount: 0, m_BundleName: bundleName, m_BundleSize: size });
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

const PROVIDER = {
  m_Id: 'UnityEngine.ResourceManagement.ResourceProviders.InstanceProvider',
  m_ObjectType: { m_AssemblyName: OPTIONS_TYPE.assembly, m_ClassName: 'InstanceProvider' },
  m_Data: '',
};

/** A `catalog.json`: one key, entry and object for each bundle, and an asset without an object in front of each. */
export function jsonCatalog(bundles: readonly CatalogBundle[], prefixes: readonly string[] = []): string {
  const objects: Buffer[] = [];
  const entries = [int32(bundles.length * 2)];
  const keys = [int32(bundles.length)];
  const buckets = [int32(bundles.length)];
  let keyOffset = 4;
  let offset = 0;
  for (const [index, bundle] of bundles.entries()) {
    const json = Buffer.from(optionsJson(bundle), 'utf16le');
    const object = Buffer.concat([
      Buffer.of(7, OPTIONS_TYPE.assembly.length),
      Buffer.from(OPTIONS_TYPE.assembly),
      Buffer.of(OPTIONS_TYPE.class.length),
      Buffer.from(OPTIONS_TYPE.class),
      int32(json.length),
      json,
    ]);
    for (const value of [bundles.length, 0, -1, 0, -1, index, 0]) entries.push(int32(value));
    for (const value of [index, 0, -1, 0, offset, index, 0]) entries.push(int32(value));
    objects.push(object);
    offset += object.length;
    const key = Buffer.from(bundle.bundleName);
    keys.push(Buffer.of(0), int32(key.length), key);
    buckets.push(int32(keyOffset), int32(1), int32(2 * index + 1));
    keyOffset += 5 + key.length;
  }
  return JSON.stringify({
    m_LocatorId: 'AddressablesMainContentCatalog',
    m_InstanceProviderData: PROVIDER,
    m_SceneProviderData: PROVIDER,
    m_ResourceProviderData: [],
    m_ProviderIds: ['UnityEngine.ResourceManagement.ResourceProviders.AssetBundleProvider'],
    m_InternalIds: [...bundles.map(({ internalId }) => internalId), 'Assets/Scene「1」.unity'],
    m_KeyDataString: Buffer.concat(keys).toString('base64'),
    m_BucketDataString: Buffer.concat(buckets).toString('base64'),
    m_EntryDataString: Buffer.concat(entries).toString('base64'),
    m_ExtraDataString: Buffer.concat(objects).toString('base64'),
    m_resourceTypes: [{ m_AssemblyName: OPTIONS_TYPE.assembly, m_ClassName: 'IAssetBundleResource' }],
    m_InternalIdPrefixes: prefixes,
  });
}
