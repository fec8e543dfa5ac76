/** A bundle in a catalog of Addressables. */
export interface CatalogBundle {
  readonly internalId: string;
  readonly bundleName: string;
  readonly hash: string;
  readonly crc: number;
  readonly size: number;
}

const OPTIONS = {
  assembly: 'Unity.ResourceManager, Version=0.0.0.0, Culture=neutral, PublicKeyToken=null',
  class: 'UnityEngine.ResourceManagement.ResourceProviders.AssetBundleRequestOptions',
};

const CORE_ASSEMBLY = 'mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089';

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
  m_ObjectType: { m_AssemblyName: OPTIONS.assembly, m_ClassName: 'InstanceProvider' },
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
      Buffer.of(7, OPTIONS.assembly.length),
      Buffer.from(OPTIONS.assembly),
      Buffer.of(OPTIONS.class.length),
      Buffer.from(OPTIONS.class),
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
    m_resourceTypes: [{ m_AssemblyName: OPTIONS.assembly, m_ClassName: 'IAssetBundleResource' }],
    m_InternalIdPrefixes: prefixes,
  });
}

/** The bundles of a `catalog.json` by the game's own way of reading: entry, then the object at its position. */
export function bundlesOfJson(text: string): CatalogBundle[] {
  const catalog = JSON.parse(text) as Readonly<Record<string, string>> & {
    readonly m_InternalIds: readonly string[];
  };
  const entries = Buffer.from(catalog['m_EntryDataString'] ?? '', 'base64');
  const objects = Buffer.from(catalog['m_ExtraDataString'] ?? '', 'base64');
  const bundles: CatalogBundle[] = [];
  for (let at = 4; at < entries.length; at += 28) {
    const position = entries.readInt32LE(at + 16);
    if (position < 0) continue;
    const start = position + 3 + OPTIONS.assembly.length + OPTIONS.class.length;
    const length = objects.readInt32LE(start);
    const options = JSON.parse(objects.toString('utf16le', start + 4, start + 4 + length)) as {
      readonly m_Hash: string;
      readonly m_Crc: number;
      readonly m_BundleName: string;
      readonly m_BundleSize: number;
    };
    bundles.push({
      internalId: catalog.m_InternalIds[entries.readInt32LE(at)] ?? '',
      bundleName: options.m_BundleName,
      hash: options.m_Hash,
      crc: options.m_Crc,
      size: options.m_BundleSize,
    });
  }
  return bundles;
}

const NOTHING = 0xffff_ffff;

/** Appends values, equal ones once, as the builder of Addressables does. */
class StorageBuffer {
  bytes: Buffer = Buffer.alloc(0);
  readonly #known = new Map<string, number>();

  value(bytes: Buffer): number {
    const key = `v${bytes.toString('hex')}`;
    const known = this.#known.get(key) ?? this.bytes.length;
    if (known === this.bytes.length) this.bytes = Buffer.concat([this.bytes, bytes]);
    this.#known.set(key, known);
    return known;
  }

  uint32s(...values: number[]): number {
    return this.value(Buffer.concat(values.map((value) => int32(value | 0))));
  }

  /** With its length in front. */
  sized(bytes: Buffer): number {
    return this.value(Buffer.concat([int32(bytes.length), bytes])) + 4;
  }

  array(values: readonly number[]): number {
    return this.sized(Buffer.concat(values.map((value) => int32(value | 0))));
  }

  text(text: string): number {
    const isAscii = Buffer.byteLength(text) === text.length;
    return isAscii ? this.sized(Buffer.from(text)) : this.sized(Buffer.from(text, 'utf16le')) + 0x8000_0000;
  }

  /** A text from shared parts. */
  joined(text: string, separator: string, isReversed: boolean): number {
    const parts = text.split(separator);
    if (parts.length === 1) return this.text(text);
    let next = NOTHING;
    for (const part of isReversed ? parts : parts.toReversed()) {
      next = this.uint32s(this.text(part), next);
    }
    return 0x4000_0000 + next;
  }
}

/** A `catalog.bin`: an asset for each bundle that depends on it. */
export function binaryCatalog(bundles: readonly CatalogBundle[], version = 2): Buffer {
  const buffer = new StorageBuffer();
  const isReversed = version > 1;
  const joined = (text: string, separator: string): number => buffer.joined(text, separator, isReversed);
  const keysAt = 32 + 4;
  buffer.bytes = Buffer.alloc(keysAt + bundles.length * 8);
  const type = (assembly: string, name: string): number =>
    buffer.uint32s(joined(assembly, '.'), joined(name, '.'));
  const keys = bundles.flatMap((bundle, index) => {
    const hash = buffer.value(Buffer.from(bundle.hash.padStart(32, '0'), 'hex'));
    const common = buffer.uint32s(0x0020_0000, 0);
    const options = buffer.uint32s(hash, joined(bundle.bundleName, '_'), bundle.crc, bundle.size, common);
    const object = buffer.uint32s(type(OPTIONS.assembly, OPTIONS.class), options);
    const provider = joined('UnityEngine.ResourceManagement.ResourceProviders.AssetBundleProvider', '.');
    const resource = type(OPTIONS.assembly, 'UnityEngine.ResourceManagement.IAssetBundleResource');
    const location = buffer.uint32s(
      joined(bundle.bundleName, '/'),
      joined(bundle.internalId, '/'),
      provider,
      NOTHING,
      0,
      object,
      resource,
    );
    const asset = buffer.uint32s(
      joined(`Assets/Scene「${index}」.unity`, '/'),
      joined(`Assets/Scene「${index}」.unity`, '/'),
      provider,
      buffer.array([location]),
      1,
      NOTHING,
      resource,
    );
    const name = buffer.uint32s(
      type(CORE_ASSEMBLY, 'System.String'),
      buffer.value(Buffer.concat([int32(buffer.text(`key${index}`) | 0), Buffer.from('/\0\0\0')])),
    );
    return [name, buffer.array([asset])];
  });
  const init = buffer.array([]);
  const provider = buffer.uint32s(buffer.text('provider'), type(CORE_ASSEMBLY, 'System.Object'), NOTHING);
  const header = [0x0de3_8942, version, keysAt, buffer.text('id'), provider, provider, init, NOTHING];
  const { bytes } = buffer;
  for (const [index, value] of header.entries()) bytes.writeInt32LE(value | 0, 4 * index);
  bytes.writeInt32LE(keys.length * 4, keysAt - 4);
  for (const [index, value] of keys.entries()) bytes.writeInt32LE(value | 0, keysAt + 4 * index);
  return bytes;
}
