import type { Target } from '../engine/target.ts';
import { checkTyped, typedSeed } from './typed.ts';

const call = `syntax = "proto3";
package shop;
message Call {
  enum Kind { NONE = 0; PAGE = 1; }
  string type = 1; string user_id = 2 [json_name = "userId"]; Kind kind = 3;
  map<string, Call> properties = 4; repeated int64 list = 5;
  oneof more { bytes raw = 6; double x = 7; }
  message Inner { bool yes = 1; }
  Inner inner = 8; map<fixed64, sint32> numbers = 9;
}`;
const known = `syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/any.proto";
message Call {
  google.protobuf.Timestamp at = 1; google.protobuf.Struct traits = 2;
  google.protobuf.Duration took = 3; google.protobuf.Int64Value n = 4; google.protobuf.Any any = 5;
}`;

/** The length of the schema in two bytes, the schema, and the message's indexes with the message. */
export const target: Target = {
  about:
    'values of Protobuf schemas, and the schemas: an unusable schema, a rejection, or a call within the limits',
  seeds: [
    typedSeed(
      call,
      '000a0470616765120175180122070a016112030a01622a03010203320161420208014a0b09ffffffffffffffff1001',
    ),
    typedSeed(call, '04000208010a'),
    typedSeed(
      known,
      '000a0808808ce4cb0610011213 0a110a0161120c2a0a0a080a0162120320 0100'.replaceAll(' ', ''),
    ),
    typedSeed(known, '001a0408011001220308ff012a050a01611200'),
    typedSeed(
      'syntax = "proto2"; message A { required int32 a = 1; optional group B = 2 { optional int32 c = 1; } extensions 100 to 199; } extend A { optional string d = 100; }',
      '00080113080214a206 0161'.replaceAll(' ', ''),
    ),
  ],
  words: [
    ...['message A {', '}', 'repeated ', 'optional ', 'required ', 'string ', 'int64 ', 'bytes '],
    ...['map<string, ', 'map<int64, ', 'google.protobuf.Value ', 'google.protobuf.Struct ', '= 1;'],
    ...[
      'enum E { A = 0; }',
      'import "',
      'package ',
      'option ',
      'extend ',
      'oneof o {',
      'reserved ',
    ],
    ...[
      '[packed = false]',
      '[json_name = "__proto__"]',
      '[default = 1]',
      '/*',
      '//',
      '"',
      'group ',
    ],
    ...[
      '\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01',
      '\xff\xff\xff\xff\x0f',
      '\x0a\x00',
      '\x0b',
      '\x0c',
    ],
  ],
  covers: ['/protobufjs/'],
  check(input) {
    checkTyped('PROTOBUF', input);
  },
};
