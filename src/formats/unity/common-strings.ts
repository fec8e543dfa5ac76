/**
 * The names that every Unity player knows. A type tree refers to them by their byte offset in the table, which has a
 * zero byte behind each name. Later versions of Unity only append names.
 */
const NAMES = [
  'AABB AnimationClip AnimationCurve AnimationState Array Base BitField bitset bool char ColorRGBA Component data deque',
  'double dynamic_array FastPropertyName first float Font GameObject Generic$Mono GradientNEW GUID GUIStyle int list',
  'long$long map Matrix4x4f MdFour MonoBehaviour MonoScript m_ByteSize m_Curve m_EditorClassIdentifier',
  'm_EditorHideFlags m_Enabled m_ExtensionPtr m_GameObject m_Index m_IsArray m_IsStatic m_MetaFlag m_Name',
  'm_ObjectHideFlags m_PrefabInternal m_PrefabParentObject m_Script m_StaticEditorFlags m_Type m_Version Object pair',
  'PPtr<Component> PPtr<GameObject> PPtr<Material> PPtr<MonoBehaviour> PPtr<MonoScript> PPtr<Object> PPtr<Prefab>',
  'PPtr<Sprite> PPtr<TextAsset> PPtr<Texture> PPtr<Texture2D> PPtr<Transform> Prefab Quaternionf Rectf RectInt',
  'RectOffset second set short size SInt16 SInt32 SInt64 SInt8 staticvector string TextAsset TextMesh Texture Texture2D',
  'Transform TypelessData UInt16 UInt32 UInt64 UInt8 unsigned$int unsigned$long$long unsigned$short vector Vector2f',
  'Vector3f Vector4f m_ScriptingClassIdentifier Gradient Type* int2_storage int3_storage BoundsInt',
  'm_CorrespondingSourceObject m_PrefabInstance m_PrefabAsset FileSize Hash128 RenderingLayerMask fixed_array EntityId',
  'LoadableObjectId LoadableSceneId',
]
  .flatMap((line) => line.split(' '))
  .map((name) => name.replaceAll('$', ' '));

/** The offset of each common name in Unity's table, in the order of the table. */
export const UNITY_COMMON_STRINGS: ReadonlyMap<string, number> = offsetsOf(NAMES);

function offsetsOf(names: readonly string[]): Map<string, number> {
  const offsets = new Map<string, number>();
  let offset = 0;
  for (const name of names) {
    offsets.set(name, offset);
    offset += name.length + 1;
  }
  return offsets;
}
