/**
 * The part of the program in {@link PYTHON_RUNNER} that reads and writes values as `value-codec.ts` does.
 *
 * | JavaScript | Python |
 * | --- | --- |
 * | `undefined`, `null`, a hole | `None`, which comes back as `null` |
 * | number, BigInt | `int` or `float`; an `int` beyond 2^53 comes back as a BigInt |
 * | Date | aware `datetime`; a naive one is taken as UTC |
 * | Map | `dict`; one whose keys are not all strings comes back as a Map |
 * | Uint8Array, ArrayBuffer | `bytes` |
 * | other typed arrays | `array.array` |
 * | Error | exception |
 */
export const PYTHON_CODEC = `
import array, base64, dataclasses, datetime, json, math, traceback

SAFE = 2 ** 53 - 1
CODES = {
    "Int8Array": "b", "Int16Array": "h", "Uint16Array": "H", "Int32Array": "i", "Uint32Array": "I",
    "Float32Array": "f", "Float64Array": "d", "BigInt64Array": "q", "BigUint64Array": "Q",
}
SPECIAL = {-1: None, -2: None, -3: math.nan, -4: math.inf, -5: -math.inf, -6: -0.0}


class Unencodable(Exception):
    def __init__(self, path, found):
        super().__init__(path + " is " + found)
        self.path, self.found = path, found


def to_number(digits):
    # Large integers come marked as BigInt, so this was a number with a fraction that happens to be none.
    number = int(digits)
    return number if abs(number) <= SAFE else float(digits)


def decode(text):
    flat = json.loads(text, parse_int=to_number)
    if isinstance(flat, int):
        return SPECIAL[flat]
    known = {}

    def value_at(index):
        if index < 0:
            return SPECIAL[index]
        if index not in known:
            known[index] = build(index, flat[index])
        return known[index]

    def build(index, entry):
        if isinstance(entry, dict):
            known[index] = made = {}
            for key, at in entry.items():
                made[key] = value_at(at)
            return made
        if not isinstance(entry, list):
            return entry
        if not entry or isinstance(entry[0], int):
            known[index] = made = []
            if entry and entry[0] == -7:
                made.extend([None] * entry[1])
                for place, at in zip(entry[2::2], entry[3::2]):
                    made[place] = value_at(at)
            else:
                for at in entry:
                    made.append(value_at(at))
            return made
        return build_tagged(index, entry[0], entry[1:])

    def build_tagged(index, tag, rest):
        if tag == "Date":
            return datetime.datetime.fromisoformat(rest[0].replace("Z", "+00:00")) if rest[0] else None
        if tag == "BigInt":
            return int(rest[0])
        if tag == "Map" or tag == "null":
            known[index] = made = {}
            for key, at in zip(rest[::2], rest[1::2]):
                made[key if tag == "null" else value_at(key)] = value_at(at)
            return made
        if tag == "Set":
            known[index] = made = set()
            for at in rest:
                made.add(value_at(at))
            return made
        if tag == "ArrayBuffer":
            return base64.b64decode(rest[0])
        if tag in ("Uint8Array", "Uint8ClampedArray", "DataView"):
            return value_at(rest[0])
        if tag in CODES:
            return array.array(CODES[tag], value_at(rest[0]))
        if tag in ("URL", "URLSearchParams"):
            return rest[0]
        if tag == "Object":
            return value_at(rest[0])
        if tag == "Error":
            fields = value_at(rest[0])
            return RuntimeError(fields.get("name", "Error") + ": " + fields.get("message", ""))
        raise TypeError("a value of the kind " + tag + " has no form in Python")

    return value_at(0)


def encode(value, root):
    flat, places, kept = [], {}, []

    def put(entry):
        flat.append(entry)
        return len(flat) - 1

    def place_of(value, path):
        # Arrays and scalars of numpy, and what else can turn itself into plain values.
        if callable(getattr(value, "tolist", None)) and not isinstance(value, (array.array, memoryview)):
            value = value.tolist()
        if isinstance(value, float):
            if math.isnan(value):
                return -3
            if math.isinf(value):
                return -4 if value > 0 else -5
            if value == 0 and math.copysign(1, value) < 0:
                return -6
        if value is None or isinstance(value, (bool, str, float)):
            return put(value)
        if isinstance(value, int):
            return put(value if abs(value) <= SAFE else ["BigInt", str(value)])
        if id(value) in places:
            return places[id(value)]
        kept.append(value)
        index = places[id(value)] = put(None)
        flat[index] = entry_of(value, path)
        return index

    def entry_of(value, path):
        if isinstance(value, (list, tuple)):
            return [place_of(item, path + "[" + str(at) + "]") for at, item in enumerate(value)]
        if isinstance(value, dict):
            if all(isinstance(key, str) and key != "__proto__" for key in value):
                return {key: place_of(item, path + "." + key) for key, item in value.items()}
            entry = ["Map"]
            for key, item in value.items():
                entry += [place_of(key, path), place_of(item, path + ".get(" + repr(key) + ")")]
            return entry
        if isinstance(value, (set, frozenset)):
            return ["Set"] + [place_of(item, path) for item in value]
        if isinstance(value, (bytes, bytearray, memoryview)):
            return ["Uint8Array", put(["ArrayBuffer", base64.b64encode(value).decode()])]
        if isinstance(value, array.array):
            names = [name for name, code in CODES.items() if code == value.typecode]
            if names:
                return [names[0], put(["ArrayBuffer", base64.b64encode(value.tobytes()).decode()])]
            return entry_of(value.tolist(), path)
        if isinstance(value, datetime.date):
            moment = value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=datetime.timezone.utc)
            moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return ["Date", moment.isoformat(timespec="milliseconds") + "Z"]
        if isinstance(value, BaseException):
            return ["Error", place_of(fields_of(value), path)]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: place_of(getattr(value, field.name), path + "." + field.name) for field in dataclasses.fields(value)}
        raise Unencodable(path, "a function" if callable(value) else "an instance of " + type(value).__name__)

    first = place_of(value, root)
    return json.dumps(flat if first >= 0 else first, allow_nan=False)


def fields_of(error):
    name = type(error).__name__
    fields = {"(class)": name if name in ("TypeError", "SyntaxError") else "Error", "name": name, "message": str(error)}
    fields["stack"] = "".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip()
    if error.__cause__ is not None:
        fields["cause"] = error.__cause__
    return fields
`;
