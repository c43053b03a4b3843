namespace RedKite.TestSupport;

/// <summary>DUMP replies, one per form of a value, and their checksums.</summary>
public static class RedisDumps
{
    private const int FooterBytes = 10;
    private const ushort Version = 10;

    /// <summary>From Redis 7.0, with version 10.</summary>
    public static IReadOnlyDictionary<string, byte[]> OfRedis70 { get; } = Decoded(new()
    {
        ["integer"] = "00c0f90a005e26d130d7a242ab",
        ["string"] = "00c30b3c0361626361e02d020162630a006f6029e4afd764ac",
        ["list"] = "120102c31e36113600000006008161021101dffd0280019e78e01400061f8330303704ff0a00902df26cbe333dd0",
        ["set of integers"] = "0b140400000003000000fbffffff01000000701101000a0086a0bbcf3a22ed25",
        ["set"] = "0204c0110161146262626262626262626262626262626262626262000a008cb8908d6bc268d8",
        ["sorted set"] = "112a2a0000000800816302842d322e35058161020101816402f400008a5d784563010981620283696e6604ff0a00552e258eab8e51e1",
        ["large sorted set"] = "050201790000000000000240c3094041017878e03400017878000000000000f03f0a00b41972c6b31726fe",
        ["hash"] = "10151500000006008166028176021101030180018001ff0a00fda555479d01c3bb",
        ["large hash"] = "0402026632c0010166c3094041017676e034000176760a00380f6195b3ad7c15",
        ["stream"] = "13011000000000000000010000000000000001c3373d123d000000190002010101020181610281620200200900002001401102050103600902817802400c4014000420180781630207010601ff0202050101010203010167010181ffffffffffffffff0100000000000000010000000000000001466d2800a20100000102026331466d2800a20100000100000000000000010000000000000001026332466d2800a2010000000a00c2f23acd9a320d65",
    });

    /// <summary>Forms introduced by Redis 7.4, with version 12: hashes whose field a expires in the year 2100.</summary>
    public static IReadOnlyDictionary<string, byte[]> OfRedis74 { get; } = Decoded(new()
    {
        ["hash that expires"] = "1900d8c32cbb0300001d1d00000006008161020101f400d8c32cbb0300000981620202010001ff0c0045a4795c939a9c04",
        ["large hash that expires"] = "1800d8c32cbb03000003010161c001000162c002000163c30540640031e05a000c00e8abfacb1becb640",
    });

    /// <summary>Vector sets of Redis 8.0, with version 12: three elements, one of which has attributes; the last set is projected.</summary>
    public static IReadOnlyDictionary<string, byte[]> OfRedis80 { get; } = Decoded(new()
    {
        ["vectors of bytes"] = "0781bde72da2bb1eb40002030203024401020205026532050005037f55ab020702030200020202080202020102813f3a44724083f07b0502653105077b226e223a317d05037f7fc0020702020200020202080201020302813f2aaaab4040000005026530050005033f7f00020702010200020202080202020302813f64f92e400f1bbd000c0083f160915adf6006",
        ["vectors of floats"] = "0781bde72da2bb1eb400020302030244000202050265320500050c72443a3f435bf83e435bf8be02090203020102020208020202010200020402804083f07b0502653105077b226e223a317d050cabaa2a3fabaa2a3fabaaaabe0207020202000202020802010203028040400000050265300500050c2ef9e43e2ef9643f0000000002070201020002020208020202030280400f1bbd000c009206e3c076c0222d",
        ["vectors of signs"] = "0781bde72da2bb1eb40002030203024402020205026532050005080300000000000000020702030200020202080201020202804083f07b0502653105077b226e223a317d050803000000000000000209020202010202020802010203020002040280404000000502653005000508030000000000000002070201020002020208020202030280400f1bbd000c00d5da1a7b73d03c8a",
        ["vectors that are projected"] = "0781bde72da2bb1eb400020202030244010201020305c30f18043acd133f3ae0050300bf200f003f0502653205027fd6020a02030201020202080201020202010204020202813f72dce93fe9b1e70502653105027fd6020a02020201020202080201020302010204020302813f72dce83fe9b1e90502653005027fd6020702010200020202080202020302813f72dce83fe9b1e9000c000feca97b329b417f",
    });

    /// <summary>A dump without version and checksum.</summary>
    public static byte[] ValueOf(byte[] dump) => dump[..^FooterBytes];

    /// <summary>Makes a dump of an arbitrary value: appends the version and a valid checksum.</summary>
    public static byte[] Seal(IEnumerable<byte> value, int version = Version)
    {
        byte[] summed = [.. value, (byte)version, (byte)(version >> 8)];
        return [.. summed, .. BitConverter.GetBytes(Crc64(summed))];
    }

    private static Dictionary<string, byte[]> Decoded(Dictionary<string, string> dumps) => dumps.ToDictionary(dump => dump.Key, dump => Convert.FromHexString(dump.Value));

    // Bit by bit: slow, but independent of the code under test.
    private static ulong Crc64(byte[] bytes)
    {
        ulong crc = 0;
        foreach (byte b in bytes)
        {
            crc ^= b;
            for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) * 0x95AC9329AC4BC9B5);
        }

        return crc;
    }
}
