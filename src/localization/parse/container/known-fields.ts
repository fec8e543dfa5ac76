import type { Collected, CollectedText } from '../../../formats/collect/text-collector.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';

/** A class of MonoBehaviour that is known by its fields, whatever the game, and the fields of it that players read. */
interface KnownClass {
  /** Together only this class has them. */
  readonly fields: readonly string[];
  /** The paths of texts; `null` where it has none. */
  readonly texts: RegExp | null;
}

/**
 * The classes of widespread packages. Sources: Unity Localization (`StringTable`, `AssetTable`, `SharedTableData`), I2 Localization
 * (`LanguageSourceAsset`, `LanguageSource`), Naninovel (`Script`), Yarn Spinner (`Localization`), TextMesh Pro and Unity UI.
 */
const KNOWN_CLASSES: readonly KnownClass[] = [
  { fields: ['m_LocaleId', 'm_SharedData', 'm_TableData'], texts: /^m_TableData\[[^\]]*\]\.m_Localized$/ },
  { fields: ['m_TableCollectionName', 'm_TableCollectionNameGuidString', 'm_Entries'], texts: null },
  {
    fields: ['mSource.mTerms', 'mSource.mLanguages'],
    texts: /^mSource\.mTerms\[\d+\]\.Languages(?:_Touch)?\[\d+\]$/,
  },
  { fields: ['mTerms', 'mLanguages'], texts: /^mTerms\[\d+\]\.Languages(?:_Touch)?\[\d+\]$/ },
  { fields: ['textMap.idToText', 'playlist'], texts: /^textMap\.idToText\.values\[\d+\]$/ },
  { fields: ['_LocaleCode', '_stringTable.values'], texts: /^_stringTable\.values\[\d+\]$/ },
  { fields: ['m_text', 'm_fontAsset'], texts: /^m_text$/ },
  { fields: ['m_FontData', 'm_Text'], texts: /^m_Text$/ },
];

/** The name of the asset in the editor, which no player sees. */
const ASSET_NAME = 'm_Name';
/** The identifier of an asset, and of one in it: what a table of assets has in the place of texts. */
const ASSET_GUID = /^[0-9a-f]{32}(?:\[.*\])?$/s;

/** Members of catalogs and settings of Addressables, and of the tables in them. No other format has these names. */
const ENGINE_MEMBERS: ReadonlySet<string> = new Set([
  'm_LocatorId',
  'm_BuildResultHash',
  'm_InstanceProviderData',
  'm_SceneProviderData',
  'm_ResourceProviderData',
  'm_ProviderIds',
  'm_InternalIds',
  'm_InternalIdPrefixes',
  'm_KeyDataString',
  'm_BucketDataString',
  'm_EntryDataString',
  'm_ExtraDataString',
  'm_resourceTypes',
  'm_buildTarget',
  'm_SettingsHash',
  'm_CatalogLocations',
  'm_AddressablesVersion',
  'm_ExtraInitializationData',
  'm_CertificateHandlerType',
]);

/**
 * The texts of an object of Unity that players can read. A rule that selects fields itself gets all of them.
 *
 * @param fields the names of the fields of the object, and of those in them as `field.field`
 */
export function playerTexts(
  collected: Collected,
  fields: ReadonlySet<string>,
  rule: CompiledRule,
): readonly CollectedText[] {
  if (rule.selectsFields) return collected.texts;
  const known = KNOWN_CLASSES.find((each) => each.fields.every((name) => fields.has(name)));
  return collected.texts.filter(({ fieldPath, value }) => {
    if (fieldPath === ASSET_NAME) return false;
    if (known === undefined) return true;
    return known.texts?.test(fieldPath) === true && !(typeof value === 'string' && ASSET_GUID.test(value));
  });
}

/** The texts of a JSON file that are not those of a catalog or of the settings of Addressables. */
export function gameTexts(
  collected: Collected,
  format: string,
  rule: CompiledRule,
): readonly CollectedText[] {
  if (rule.selectsFields || !/(?:^|\+)json$/.test(format)) return collected.texts;
  return collected.texts.filter(({ fieldPath }) => {
    const member = /^\/([^/]*)/.exec(fieldPath)?.[1];
    return member === undefined || !ENGINE_MEMBERS.has(member);
  });
}
