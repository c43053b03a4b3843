using System.Text;
using RedKite.Json.Store;
using RedKite.Store.Memory;

namespace RedKite.Json.Tests;

/// <summary>Documents that come one after the other, with the same names and with others: each becomes what it is alone.</summary>
public sealed class JsonNameSequenceTests
{
    private const string Profile = """{"name":"Ada","address":{"city":"Oslo","zip":"0150"},"work":{"city":"Bergen","zip":"5003"},"a name of 31 bytes with a quote":1,"short":[{"city":1},{"city":2}]}""";

    [Theory]
    [InlineData(Profile)]
    [InlineData("""{"name":"Grace","address":{"city":"x","zip":"y"},"work":{"city":[],"zip":{}},"a name of 31 bytes with a quote":[1.5,2.25],"short":[{"city":7},{"city":null}]}""")]
    [InlineData("""{"name":"Ada","address":{"city":"Oslo","zip":"0150"},"work":{"city":"Bergen","other":"5003"},"city":1,"zip":2}""")]
    [InlineData("""{"name":"Ada","address":{"city":"Oslo","zip":"0150"}}""")]
    [InlineData("""{"name":"Ada","address":{"city":"Oslo","zip":"0150"},"work":{"city":"Bergen","zip":"5003"},"a name of 31 bytes with a quote":1,"short":[{"city":1},{"city":2}],"more":{"zip":1,"name":2}}""")]
    [InlineData("""{"name":"Ada","address":{"city":"Oslo"},"zip":"0150"}""")]
    [InlineData("""{"name":1,"address":2,"city":3,"zip":4,"work":5,"city":6,"zip":7}""")]
    [InlineData("""{"name":1,"name":2,"address":{"address":3,"address":4}}""")]
    [InlineData("""{"name":"Ada","address":{"ci\u0074y":"Oslo","city":"Bergen"}}""")]
    [InlineData("""{"name":"Ada","address":{"city":"Oslo","zipcode":"0150","zi":1},"end":"so that more than the longest name is behind it"}""")]
    [InlineData("""{ "name" : "Ada" , "address" : { "city" : "Oslo" , "zip" : "0150" } , "work" : { "city" : "Bergen" , "zip" : "5003" } }""")]
    [InlineData("""[{"city":1,"zip":2},{"city":1,"zip":2},{"city":1,"zip":2}]""")]
    [InlineData("""{"a name of 32 bytes with a quote.":1,"sixteen letters.":2,"fifteen letters":3}""")]
    [InlineData("""{"sixteen letters.":2,"fifteen letters":3,"name":{"sixteen letters.":2,"fifteen letters":3}}""")]
    [InlineData("""{"sixteen letters!":2,"fifteen letters!":3,"end":"so that more than the longest name is behind it"}""")]
    [InlineData("""{"a"b":1}""")]
    [InlineData("""{"n":1}""")]
    [InlineData("""{"":1,"x":{"":2}}""")]
    [InlineData("7")]
    public void Document_behind_others_is_what_it_is_alone(string text)
    {
        string[] others = [Profile, text, """{"sixteen letters.":2,"fifteen letters":3,"name":{"sixteen letters.":2,"fifteen letters":3}}""", """{"name":1,"city":2}""", "[]", """{"n":1,"name":2,"name":3}""", """{"name":"Ada","address":{"city":"Oslo","zip":"0150"},"work":[""", "{\"name\":\"Ada\",", """{"name":1,"name":tru""", """{"name":"Ada","address":{"ci\u0074y":"Oslo","city":"Bergen"}}""", """{"a\"b":1}"""];
        string alone = Parse(new JsonParser(), text);
        foreach (string first in others)
        {
            var fresh = new JsonParser();
            Parse(fresh, first);
            Assert.Equal(alone, Parse(fresh, text));
            foreach (string second in others)
            {
                var parser = new JsonParser();
                foreach (string before in (string[])[first, first, second, text, first, second]) Parse(parser, before);
                Assert.Equal(alone, Parse(parser, text));
                Assert.Equal(alone, Parse(parser, text));
            }
        }
    }

    // An object that has become large lists its names, also those that were repeated.
    [Fact]
    public void Larger_objects_have_no_name_twice()
    {
        string members = string.Join(',', Enumerable.Range(0, 100).Select(i => $"\"member{i}\":\"{new string('x', i)}\"")), shared = string.Join(',', Enumerable.Range(0, 100).Select(i => $"\"member{i}\":1"));
        string text = "{\"before\":{" + shared + "},\"object\":{" + members + "}}", twice = text[..^2] + ",\"member90\":1}}";
        string alone = Parse(new JsonParser(), text), twiceAlone = Parse(new JsonParser(), twice);
        var parser = new JsonParser();
        for (int i = 0; i < 4; i++)
        {
            Assert.Equal(alone, Parse(parser, text));
            Assert.Equal(twiceAlone, Parse(parser, twice));
            Assert.Equal(twiceAlone, Parse(parser, twice));
        }
    }

    [Fact]
    public void Few_of_documents_that_have_other_names_in_turn_are_remembered()
    {
        var parser = new JsonParser();
        JsonNameSequence sequence = parser.Sequence;
        Parse(parser, """{"name":1}""");
        long before = sequence.Repeated;
        for (int i = 0; i < 10; i++) Parse(parser, """{"name":1}""");
        Assert.Equal(before + 10, sequence.Repeated);
        long recorded = sequence.Recorded;
        for (int i = 0; i < 1000; i++) Parse(parser, i % 2 == 0 ? """{"name":1}""" : """{"other":1}""");
        Assert.InRange(sequence.Recorded, recorded + 2, recorded + 30);
    }

    // The image, with the text of what is in blocks.
    private static string Parse(JsonParser parser, string text)
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        using NativeBuffer image = new(), written = new();
        if (!parser.TryParseDocument(Encoding.UTF8.GetBytes(text), image, arena)) return Encoding.UTF8.GetString(parser.Error.Message);
        JsonDocument document = JsonDocument.In(image);
        JsonTextWriter.Write(written, document.Names, document.Root);
        string names = Convert.ToHexString(image.Written[..document.Names.Bytes]);
        string packed = parser.MayRefer ? "" : Convert.ToHexString(image.Written);
        JsonDocument.Free(image, arena);
        return $"{names} {packed} {Encoding.UTF8.GetString(written.Written)}";
    }
}
