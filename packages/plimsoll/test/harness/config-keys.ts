/** Which keys and values a page may name: those that the configuration accepts. */

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
}

/** Whether a key, or the end of one, is in the configuration or in the body of `POST …/compact`, and takes the value. */
export function isKeyOf(config: object, code: string): boolean {
  const [key = "", value] = code.split(/: (.*)/s);
  const schemas = keysOf(config).filter(([path]) => path === key || path.endsWith(`.${key}`));
  if (schemas.length === 0) return ["keep", "budget"].includes(key) && value === undefined;
  return value === undefined || schemas.some(([, schema]) => takes(schema, value));
}

function keysOf(schema: Schema, path = ""): readonly (readonly [string, Schema])[] {
  const below = (key: string): string => (path === "" ? key : `${path}.${key}`);
  const inside = [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])];
  const others = typeof schema.additionalProperties === "object" ? schema.additionalProperties : {};
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, one]) => [
      [below(key), one] as const,
      ...keysOf(one, below(key)),
    ]),
    ...inside.flatMap((one) => keysOf(one, path)),
    ...(Object.keys(others).length === 0 ? [] : keysOf(others, below("*"))),
  ];
}

/** Whether a value, written as in YAML, is of one of the types of a schema. */
function takes(schema: Schema, value: string): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((one) => takes(one, value));
  if (value.startsWith("["))
    return listIn(value).every((one) => schema.items !== undefined && takes(schema.items, one));
  if (schema.enum !== undefined) return schema.enum.some((one) => String(one) === value);
  if (schema.type === "boolean") return value === "true" || value === "false";
  if (schema.type === "number" || schema.type === "integer") return !Number.isNaN(Number(value));
  return schema.type === "string";
}

/** The elements of a list on one line, as in YAML. */
function listIn(value: string): readonly string[] {
  return value.slice(1, -1).split(", ");
}
