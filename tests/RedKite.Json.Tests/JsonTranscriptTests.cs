using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>The replies of every command, as they are documented.</summary>
public sealed class JsonTranscriptTests
{
    [Fact]
    public async Task Set_and_get()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Assert.Equal("(nil)", server.Json("JSON.GET", "doc"));
        Assert.Equal("(nil)", server.Json("JSON.SET", "doc", "$", "1", "XX"));
        Assert.Equal("ERR new objects must be created at the root", server.Json("JSON.SET", "doc", "$.a", "1"));
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$", """{"a":2,"nested":{"a":true},"list":[1,2.5,"x",null]}"""));
        Assert.Equal("""{"a":2,"nested":{"a":true},"list":[1,2.5,"x",null]}""", server.Json("JSON.GET", "doc"));
        Assert.Equal("(nil)", server.Json("JSON.SET", "doc", "$", "1", "NX"));
        Assert.Equal("[2,true]", server.Json("JSON.GET", "doc", "$..a"));
        Assert.Equal("2", server.Json("JSON.GET", "doc", "a"));
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$..a", "[]"));
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "$.b", "8"));
        Assert.Equal("""{"a":[],"nested":{"a":[]},"list":[1,2.5,"x",null],"b":8}""", server.Json("JSON.GET", "doc"));
        Assert.Equal("(nil)", server.Json("JSON.SET", "doc", "$.x.y", "1"));
        Assert.Equal("(nil)", server.Json("JSON.SET", "doc", "$.b", "1", "NX"));
        Assert.Equal("(nil)", server.Json("JSON.SET", "doc", "$.c", "1", "XX"));
        Assert.Equal("ERR wrong static path", server.Json("JSON.SET", "doc", "$..zz", "1"));
        Assert.Equal("ERR array index out of range", server.Json("JSON.SET", "doc", "$.list[9]", "1"));
        Assert.Equal("ERR Path does not exist", server.Json("JSON.GET", "doc", ".zz"));
        Assert.Equal("[]", server.Json("JSON.GET", "doc", "$.zz"));
        Assert.Equal("expected value at line 1 column 1", server.Json("JSON.SET", "doc", "$", "bar"));
        Assert.Equal("ERR syntax error", server.Json("JSON.SET", "doc", "$", "1", "NX", "XX"));
        Assert.Equal("""{"$.a":[[]],"$.b":[8]}""", server.Json("JSON.GET", "doc", "$.a", "$.b"));
        Assert.Equal("""{".a":[],"b":8}""", server.Json("JSON.GET", "doc", ".a", "b"));
        Assert.Equal("""{_-"$..b": [_--8_-]_}""", server.Json("JSON.GET", "doc", "INDENT", "-", "NEWLINE", "_", "SPACE", " ", "$..b", "$..b"));
        server.Run("SET", "text", "x");
        Assert.Equal("Existing key has wrong Redis type", server.Json("JSON.GET", "text"));
        Assert.Equal("Existing key has wrong Redis type", server.Json("JSON.SET", "text", "$", "1"));
        Assert.StartsWith("WRONGTYPE", server.Run("GET", "doc"), StringComparison.Ordinal);
        Assert.Equal("ERR wrong number of arguments for 'json.set' command", server.Json("JSON.SET", "doc", "$"));
    }

    // Arrays of numbers get a precision; the text is the shortest that is the same number in it.
    [Theory]
    [InlineData("FP16", "[[1,2,3,4e3],[5,6.0,7,8]]", "[[1.0,2.0,3.0,4000.0],[5.0,6.0,7.0,8.0]]")]
    [InlineData("FP16", "[0.1,3.14159265,-65504,0.00001]", "[0.1,3.14,-65500.0,0.00001]")]
    [InlineData("BF16", "[0.1,3.14159265,-1e38,1]", "[0.1,3.14,-1e38,1.0]")]
    [InlineData("BF16", "[257,259]", "[256.0,260.0]")] // in the middle of two: to the even one
    [InlineData("FP32", "[0.1,3.14159265358979,16777217]", "[0.1,3.1415927,16777216.0]")]
    [InlineData("FP64", "[0.1,3.14159265358979,16777217]", "[0.1,3.14159265358979,16777217.0]")]
    [InlineData("fp16", """{"a":[ 1 , 2 ],"b":[1,"x"],"c":1.00001,"d":[],"e":[[3.14159],null]}""", """{"a":[1.0,2.0],"b":[1,"x"],"c":1.00001,"d":[],"e":[[3.14],null]}""")]
    [InlineData("FP16", "[1,65520]", "value out of range for FP16 at line 1 column 8")]
    [InlineData("BF16", "[1,\n3.4e38,1]", "value out of range for BF16 at line 2 column 6")]
    [InlineData("FP32", "[1e39]", "value out of range for FP32 at line 1 column 5")]
    [InlineData("FP64", "[1,-]", "invalid number at line 1 column 5")]
    public async Task Arrays_of_numbers_have_a_precision(string type, string text, string expected)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        bool isError = expected.Contains(" at line ", StringComparison.Ordinal);
        Assert.Equal(isError ? expected : "OK", server.Json("JSON.SET", "doc", "$", text, "FPHA", type));
        Assert.Equal(isError ? "(nil)" : expected, server.Document("doc"));
        server.Json("JSON.SET", "doc", "$", """{"old":1}""");
        Assert.Equal(isError ? expected : "OK", server.Json("JSON.SET", "doc", "$.old", text, "FPHA", type, "XX"));
        Assert.Equal(isError ? expected : "OK", server.Json("JSON.SET", "doc", "$.new", text, "NX", "FPHA", type));
        Assert.Equal(isError ? """{"old":1}""" : $$"""{"old":{{expected}},"new":{{expected}}}""", server.Document("doc"));
        Assert.Equal("ERR syntax error", server.Json("JSON.SET", "doc", "$", text, "FPHA", "FP8"));
    }

    [Fact]
    public async Task Numbers_strings_and_booleans()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Json("JSON.SET", "doc", "$", """{"a":"b","b":[{"a":2},{"a":5.0},{"a":"c"}]}""");
        Assert.Equal("[null,4,7.0,null]", server.Json("JSON.NUMINCRBY", "doc", "$..a", "2"));
        Assert.Equal("[null,6.5,9.5,null]", server.Json("JSON.NUMINCRBY", "doc", "$..a", "2.5"));
        Assert.Equal("[11.5]", server.Json("JSON.NUMINCRBY", "doc", "$.b[1].a", "2"));
        Assert.Equal("[15.0]", server.Json("JSON.NUMINCRBY", "doc", "$.b[1].a", "3.5"));
        Assert.Equal("[30.0]", server.Json("JSON.NUMMULTBY", "doc", "$.b[1].a", "2"));
        Assert.Equal("[900.0]", server.Json("JSON.NUMPOWBY", "doc", "$.b[1].a", "2"));
        Assert.Equal("[]", server.Json("JSON.NUMINCRBY", "doc", "$.zz", "2"));
        Assert.Equal("8.5", server.Json("JSON.NUMINCRBY", "doc", ".b[0].a", "2"));
        Assert.Equal("ERR Path does not exist or does not contains a number", server.Json("JSON.NUMINCRBY", "doc", ".a", "2"));
        Assert.Equal("ERR could not perform this operation on a key that doesn't exist", server.Json("JSON.NUMINCRBY", "none", "$.a", "2"));
        server.Json("JSON.SET", "big", "$", "[9223372036854775807,18446744073709551615,-9223372036854775808,5]");
        Assert.Equal("[9223372036854775807,18446744073709551615,-9223372036854775808,5]", server.Json("JSON.GET", "big"));
        Assert.Equal("[9.223372036854776e18]", server.Json("JSON.NUMINCRBY", "big", "$[0]", "1"));
        Assert.Equal("[25]", server.Json("JSON.NUMPOWBY", "big", "$[3]", "2"));
        server.Json("JSON.SET", "s", "$", """{"a":"foo","n":{"a":"hello"},"m":{"a":31}}""");
        Assert.Equal("[6, 8, (nil)]", server.Json("JSON.STRAPPEND", "s", "$..a", "\"bar\""));
        Assert.Equal("[6, 8, (nil)]", server.Json("JSON.STRLEN", "s", "$..a"));
        Assert.Equal("11", server.Json("JSON.STRAPPEND", "s", ".n.a", "\"baz\""));
        Assert.Equal("ERR Path does not exist or not a string", server.Json("JSON.STRAPPEND", "s", ".m.a", "\"baz\""));
        Assert.Equal("WRONGTYPE wrong type of path value - expected string but found integer", server.Json("JSON.STRLEN", "s", ".m.a"));
        Assert.Equal("ERR Path does not exist", server.Json("JSON.STRLEN", "s", ".zz"));
        server.Json("JSON.SET", "t", "$", """{"a":["foo"],"n":{"a":false},"m":{"a":31},"o":{"a":true}}""");
        Assert.Equal("[(nil), 1, (nil), 0]", server.Json("JSON.TOGGLE", "t", "$..a"));
        Assert.Equal("false", server.Json("JSON.TOGGLE", "t", ".n.a"));
        Assert.Equal("ERR Path does not exist or not a bool", server.Json("JSON.TOGGLE", "t", ".m.a"));
        Assert.Equal("""{"a":["foo"],"n":{"a":false},"m":{"a":31},"o":{"a":false}}""", server.Document("t"));
    }

    [Fact]
    public async Task Arrays()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        const string Document = """{"a":["foo"],"n":{"a":["hello",null,"world"]},"m":{"a":31}}""";
        server.Json("JSON.SET", "d", "$", Document);
        Assert.Equal("[1, 3, (nil)]", server.Json("JSON.ARRLEN", "d", "$..a"));
        Assert.Equal("[3, 5, (nil)]", server.Json("JSON.ARRAPPEND", "d", "$..a", "\"bar\"", "\"racuda\""));
        Assert.Equal("6", server.Json("JSON.ARRAPPEND", "d", ".n.a", "\"baz\""));
        Assert.Equal("""{"a":["foo","bar","racuda"],"n":{"a":["hello",null,"world","bar","racuda","baz"]},"m":{"a":31}}""", server.Document("d"));
        server.Json("JSON.SET", "d", "$", Document);
        Assert.Equal("[3, 5, (nil)]", server.Json("JSON.ARRINSERT", "d", "$..a", "1", "\"bar\"", "\"racuda\""));
        Assert.Equal("[6]", server.Json("JSON.ARRINSERT", "d", "$.n.a", "-2", "\"baz\""));
        Assert.Equal("""{"a":["foo","bar","racuda"],"n":{"a":["hello","bar","racuda","baz",null,"world"]},"m":{"a":31}}""", server.Document("d"));
        Assert.Equal("ERR index out of bounds", server.Json("JSON.ARRINSERT", "d", "$.a", "9", "1"));
        server.Json("JSON.SET", "d", "$", Document);
        Assert.Equal("""["foo", null, (nil)]""", server.Json("JSON.ARRPOP", "d", "$..a", "1"));
        Assert.Equal("""[(nil), "world", (nil)]""", server.Json("JSON.ARRPOP", "d", "$..a", "-1"));
        Assert.Equal("ERR Path does not exist or not an array", server.Json("JSON.ARRPOP", "d", ".m.a"));
        server.Json("JSON.SET", "d", "$", Document);
        Assert.Equal("[0, 2, (nil)]", server.Json("JSON.ARRTRIM", "d", "$..a", "1", "-1"));
        Assert.Equal("""{"a":[],"n":{"a":[null,"world"]},"m":{"a":31}}""", server.Document("d"));
        server.Json("JSON.SET", "i", "$", """[{"arr":[0,1,3.0,3,2,1,0,3]},{"x":{"arr":[5,4,3,2,1,0,1,2,3.0,2,4,5]}},{"y":{"arr":[2,4,6]}},{"z":{"arr":"3"}},[{"arr":[]}]]""");
        Assert.Equal("[3, 2, -1, (nil), -1]", server.Json("JSON.ARRINDEX", "i", "$..arr", "3"));
        Assert.Equal("[2, 8, -1, (nil), -1]", server.Json("JSON.ARRINDEX", "i", "$..arr", "3.0"));
        Assert.Equal("[7, -1, -1, (nil), -1]", server.Json("JSON.ARRINDEX", "i", "$..arr", "3", "4", "0"));
        Assert.Equal("WRONGTYPE wrong type of path value - expected array but found string", server.Json("JSON.ARRINDEX", "i", "[3].z.arr", "3"));
        for (int i = 0; i < 5; i++) server.Json(i == 0 ? ["JSON.SET", "n", "$", "[0]"] : ["JSON.ARRAPPEND", "n", "$", i.ToString(System.Globalization.CultureInfo.InvariantCulture)]);
        Assert.Equal("0", server.Json("JSON.ARRTRIM", "n", ".", "9", "1"));
        Assert.Equal("(nil)", server.Json("JSON.ARRPOP", "n"));
    }

    [Fact]
    public async Task Removal_and_merging()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Json("JSON.SET", "d", "$", """{"a":{"a":2,"b":3},"b":["a","b"],"nested":{"b":[true,"a","b"]}}""");
        Assert.Equal("1", server.Json("JSON.DEL", "d", "$..a"));
        Assert.Equal("""[{"nested":{"b":[true,"a","b"]},"b":["a","b"]}]""", server.Json("JSON.GET", "d", "$")); // the last member takes the place
        server.Json("JSON.SET", "d", "$", """{"a":[[1],[1,2,3,[4,5,[{"a":6},7,8]]],[10,{"11":11}],["12","13"]],"b":[[1,2],{"a":[3,4,5]}]}""");
        Assert.Equal("8", server.Json("JSON.DEL", "d", "$..[0]"));
        Assert.Equal("""[{"a":[[2,3,[5,[7,8]]],[{"11":11}],["13"]],"b":[{"a":[4,5]}]}]""", server.Json("JSON.GET", "d", "$"));
        Assert.Equal("0", server.Json("JSON.DEL", "none", "$..a"));
        server.Json("JSON.SET", "c", "$", """{"n":{"a":{"foo":10,"bar":20}},"a":["foo"],"m":{"a":"claro"},"o":{"a":{"baz":50}},"x":3}""");
        Assert.Equal("3", server.Json("JSON.CLEAR", "c", "$..a"));
        Assert.Equal("0", server.Json("JSON.CLEAR", "c", "$..a"));
        Assert.Equal("1", server.Json("JSON.CLEAR", "c", "$.x"));
        Assert.Equal("""{"n":{"a":{}},"a":[],"m":{"a":"claro"},"o":{"a":{}},"x":0}""", server.Document("c"));
        Assert.Equal("1", server.Json("JSON.FORGET", "c"));
        Assert.Equal("0", server.Run("EXISTS", "c"));
        server.Json("JSON.SET", "m", "$", """{"person":{"name":"John Doe","age":25,"address":{"home":"123 Main Street"},"phone":"123-456-7890"}}""");
        Assert.Equal("OK", server.Json("JSON.MERGE", "m", "$", """{"person":{"age":30}}"""));
        Assert.Equal("OK", server.Json("JSON.MERGE", "m", "$.person.address", """{"work":"Redis office"}"""));
        Assert.Equal("OK", server.Json("JSON.MERGE", "m", "$.person", """{"age":null}"""));
        Assert.Equal("""{"person":{"name":"John Doe","phone":"123-456-7890","address":{"home":"123 Main Street","work":"Redis office"}}}""", server.Document("m"));
        Assert.Equal("OK", server.Json("JSON.MERGE", "m", "$.person.new", """{"x":{"y":null,"z":1}}"""));
        Assert.Equal("OK", server.Json("JSON.MERGE", "m", "$", """{"other":{"y":null,"z":1},"person":[1]}"""));
        Assert.Equal("""{"person":[1],"other":{"z":1}}""", server.Document("m"));
    }

    [Fact]
    public async Task Descriptions()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Json("JSON.SET", "d", "$", """{"n":{"a":{"foo":10,"bar":20}},"a":["foo"],"m":{"a":{"baz":50}}}""");
        Assert.Equal("[(nil), [foo, bar], [baz]]", server.Json("JSON.OBJKEYS", "d", "$..a"));
        Assert.Equal("[foo, bar]", server.Json("JSON.OBJKEYS", "d", ".*.a"));
        Assert.Equal("[(nil), 2, 1]", server.Json("JSON.OBJLEN", "d", "$..a"));
        Assert.Equal("(nil)", server.Json("JSON.OBJLEN", "d", ".zz"));
        Assert.Equal("ERR Path does not exist or not an object", server.Json("JSON.OBJLEN", "none", "$"));
        Assert.Equal("ERR could not perform this operation on a key that doesn't exist", server.Json("JSON.OBJKEYS", "none", "$"));
        Assert.Equal("(nil)", server.Json("JSON.OBJKEYS", "none"));
        server.Json("JSON.SET", "t", "$", """[{},[],"s",1,1.5,true,null]""");
        Assert.Equal("[object, array, string, integer, number, boolean, null]", server.Json("JSON.TYPE", "t", "$[*]"));
        Assert.Equal("array", server.Json("JSON.TYPE", "t"));
        Assert.Equal("(nil)", server.Json("JSON.TYPE", "none"));
        Assert.Equal("[[, [{], [[], s, 1, 1.5, true, (nil)]", server.Json("JSON.RESP", "t"));
        Assert.Equal("[MEMORY <key> [path] - reports memory usage, TEXT <key> <bytes>  - returns the beginning of the document's text, HELP                - this message]", server.Json("JSON.DEBUG", "HELP"));
        Assert.Equal("[1]", server.Json("JSON.DEBUG", "MEMORY", "t", "$[6]"));
        Assert.Equal("[{},[],", server.Json("JSON.DEBUG", "TEXT", "t", "7"));
        Assert.Equal("(nil)", server.Json("JSON.DEBUG", "TEXT", "none", "7"));
        Assert.Equal("[]", server.Json("JSON.DEBUG", "MEMORY", "none", "$"));
        Assert.Equal("ReJSON-RL", server.Run("TYPE", "t"));
        Assert.Equal("[[\"s\"], (nil), []]", server.Json("JSON.MGET", "t", "none", "d", "$[2]"));
        Assert.Equal("OK", server.Json("JSON.MSET", "x", "$", "1", "y", "$", "{}", "d", "$.a", "7"));
        Assert.Equal("[1, {}]", server.Json("JSON.MGET", "x", "y", "."));
        Assert.Equal("ERR new objects must be created at the root", server.Json("JSON.MSET", "x", "$", "2", "none", "$.a", "3"));
        Assert.Equal("1", server.Document("x"));
    }
}
